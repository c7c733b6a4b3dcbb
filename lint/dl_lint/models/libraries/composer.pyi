from dl_lint.models import *

class Trainer(EpochLoop, SetsEpoch):
    def __init__(
        self,
        *,
        train_dataloader: Trains = None,
        eval_dataloader: Evaluates = None,
        max_duration: Epochs = 1,
        eval_interval: Rhythm = None,
    ) -> None: ...

trainer = composer
