from dl_lint.models import *

class train:
    class torch:
        def prepare_data_loader(data_loader, *args) -> Prepared[data_loader]: ...
