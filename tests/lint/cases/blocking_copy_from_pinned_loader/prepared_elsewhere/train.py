from accelerate import Accelerator

from data import build
from loop import train


def main(model, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, build(dataset))
    train(model, loader, accelerator.device)
