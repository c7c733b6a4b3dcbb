from dl_lint.models import *

class datapipes:
    class iter:
        class IterDataPipe(IterableDataset): ...
class stateful_dataloader:
    class StatefulDataLoader(TorchLoader):
        def __init__(self, dataset, batch_size=..., shuffle=..., sampler=..., batch_sampler=..., num_workers=..., collate_fn=..., pin_memory=..., drop_last=..., timeout=..., worker_init_fn=..., multiprocessing_context=..., generator=...) -> None: ...
    stateful_dataloader = torchdata.stateful_dataloader
