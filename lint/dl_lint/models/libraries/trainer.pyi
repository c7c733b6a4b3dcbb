from dl_lint.models import *

class torch:
    from torch.utils.data import DistributedSampler
