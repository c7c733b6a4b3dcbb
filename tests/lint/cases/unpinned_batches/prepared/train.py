from accelerate import Accelerator
from torch.utils.data import DataLoader


def train(model, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(dataset, batch_size=64, num_workers=4))
    for images in loader:
        accelerator.backward(model(images.cuda()))
