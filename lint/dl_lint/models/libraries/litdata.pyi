from dl_lint.models import *

class StreamingDataLoader(Loader):
    def __init__(self, dataset) -> None: ...
class streaming:
    from litdata import StreamingDataLoader
    class dataloader:
        from litdata import StreamingDataLoader
