from torch.utils.data import DataLoader

from utils import to_gpu


def train(model, dataset):
    loader = DataLoader(dataset, num_workers=1, pin_memory=False)
    for text, mel in loader:
        model(to_gpu(text), to_gpu(mel))
