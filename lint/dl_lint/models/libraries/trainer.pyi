from dl_lint.models import *

class torch:
    from torch.utils.data import DistributedSampler

class model:
    from trainer import TrainerModel

class TrainerModel(EpochLoop):
    def get_data_loader(self, *args) -> Trains: ...
