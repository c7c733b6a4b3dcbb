"""Goes over one dataset itself, and hands the other one on."""

from data import Spectra, Waves
from torch.utils.data import DataLoader
from tqdm import tqdm


def normalise(folder):
    dataset = Spectra(folder)
    print(len(dataset), "files")
    for spectrum in tqdm(dataset):
        print(spectrum)


def train(folder, make_loader=DataLoader):
    dataset = Waves(folder)
    print(dataset[0])
    return make_loader(dataset, num_workers=4)
