from dl_lint.models import *

class dataloading:
    class DataLoader(Loader):
        def __init__(self, graph, indices=..., graph_sampler=...) -> None: ...
    class GraphDataLoader(Loader):
        def __init__(self, dataset) -> None: ...
