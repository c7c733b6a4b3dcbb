from dl_lint.models import *

class StreamingDataLoader(Loader):
    def __init__(self, dataset, batch_size=..., shuffle=..., sampler=..., batch_sampler=..., num_workers=..., collate_fn=..., pin_memory=..., drop_last=..., timeout=..., worker_init_fn=..., multiprocessing_context=..., generator=...) -> None: ...
class base:
    from streaming import StreamingDataLoader
    class dataloader:
        from streaming import StreamingDataLoader
