from torch.utils.data import DataLoader

from data import Points
from trainer import Trainer


def train(model, prepare, device):
    trainer = Trainer(model, device)
    loader = DataLoader(Points(), num_workers=4)
    for batch in loader:
        trainer.step(batch)
    trainer.step(prepare(model))
