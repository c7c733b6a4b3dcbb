from dl_lint.models import *

class dl:
    class Runner(EpochLoop, SetsEpoch):
        def train(self, *, loaders: Trains, num_epochs: Epochs = 1) -> None: ...
    class SupervisedRunner(EpochLoop, SetsEpoch):
        def train(self, *, loaders: Trains, num_epochs: Epochs = 1) -> None: ...
