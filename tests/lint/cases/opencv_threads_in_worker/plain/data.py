import cv2
import numpy as np
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        image = cv2.imread(self.paths[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)  # expect
        return cv2.resize(image, (224, 224))


class Augmented(Dataset):
    def __getitem__(self, index):
        return warp(cv2.imread(self.paths[index]))


def warp(image):
    matrix = cv2.getRotationMatrix2D((0, 0), 10, 1)
    return cv2.warpAffine(image, matrix, (224, 224))  # expect


class Frames(IterableDataset):
    def __iter__(self):
        video = cv2.VideoCapture(self.path)
        while True:
            ok, frame = video.read()
            if not ok:
                return
            yield cv2.GaussianBlur(frame, (5, 5), 0)  # expect


class Rectified(Dataset):
    @staticmethod
    def read(path):
        return cv2.imread(path)

    @staticmethod
    def remapped(image, maps):
        return cv2.remap(image, *maps, cv2.INTER_LINEAR)  # expect

    def __getitem__(self, index):
        return self.__class__.remapped(type(self).read(self.paths[index]), self.maps)


# --- traps ---------------------------------------------------------------------------------


class OnlyDecoded(Dataset):
    def __getitem__(self, index):
        return cv2.imread(self.paths[index])[..., ::-1]


class DecodedByClass(Rectified):
    def __getitem__(self, index):
        return self.__class__.read(self.paths[index])[..., ::-1]


class WithoutWorkers(Dataset):
    def __getitem__(self, index):
        return cv2.resize(cv2.imread(self.paths[index]), (224, 224))


class OfUnknownWorkers(Dataset):
    def __getitem__(self, index):
        return cv2.resize(cv2.imread(self.paths[index]), (224, 224))


class Prepared(Dataset):
    def __init__(self, paths):
        self.images = np.stack([cv2.resize(cv2.imread(path), (224, 224)) for path in paths])

    def __getitem__(self, index):
        return self.images[index]


class Flipped(Dataset):
    def __getitem__(self, index):
        return cv2.flip(cv2.imread(self.paths[index]), 1)


def loaders(paths, workers):
    return [
        DataLoader(Photos(paths), num_workers=4),
        DataLoader(Augmented(), num_workers=4),
        DataLoader(Frames(), num_workers=4),
        DataLoader(Rectified(), num_workers=4),
        DataLoader(OnlyDecoded(), num_workers=4),
        DataLoader(DecodedByClass(), num_workers=4),
        DataLoader(WithoutWorkers(), num_workers=0),
        DataLoader(OfUnknownWorkers(), num_workers=workers),
        DataLoader(Prepared(paths), num_workers=4),
        DataLoader(Flipped(), num_workers=4),
    ]


def show(image):
    cv2.imshow("image", cv2.resize(image, (224, 224)))
