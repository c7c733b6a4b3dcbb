from dl_lint.models import *
from lightning.pytorch import LightningDataModule, LightningModule, Trainer

class fabric:
    @by_name
    class Fabric:
        def setup_dataloaders(self, *dataloaders) -> Prepared[dataloaders]: ...

class pytorch:
    core = lightning.pytorch

    class LightningDataModule(EpochLoop, SetsEpoch):
        def train_dataloader(self) -> Trains: ...
        def val_dataloader(self) -> Evaluates: ...

    class LightningModule(EpochLoop, SetsEpoch):
        def train_dataloader(self) -> Trains: ...
        def val_dataloader(self) -> Evaluates: ...
        def on_train_batch_end(self, *args) -> EachBatch: ...
        def on_train_batch_start(self, *args) -> EachBatch: ...
        def on_validation_batch_end(self, *args) -> EachBatch: ...
        def test_step(self, *args) -> EachBatch: ...
        def training_step(self, *args) -> EachBatch: ...
        def validation_step(self, *args) -> EachBatch: ...

    class Trainer(EpochLoop, SetsEpoch):
        def __init__(
            self,
            *,
            max_epochs: Epochs = 1000,
            max_steps: Uncounted = -1,
            max_time: Uncounted = None,
            fast_dev_run: Trial = False,
            check_val_every_n_epoch: Rhythm = 1,
            limit_val_batches: Rhythm = None,
            val_check_interval: Rhythm = None,
        ) -> None: ...
        # train_dataloader is its name in Lightning 1, as from_argparse_args is of that
        def fit(
            self,
            model,
            train_dataloaders: Trains = None,
            val_dataloaders: Evaluates = None,
            *,
            train_dataloader: Trains = None,
        ) -> None: ...
        def from_argparse_args(args) -> Trainer: ...
