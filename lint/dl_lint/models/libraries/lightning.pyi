from dl_lint.models import *

class fabric:
    @by_name
    class Fabric:
        def setup_dataloaders(self, *dataloaders) -> Prepared[dataloaders]: ...
class pytorch:
    core = lightning.pytorch
