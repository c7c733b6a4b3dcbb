import logging
import random
import warnings

import cv2
import librosa
import numpy as np
import torch
import torchaudio
from PIL import Image
from torch.utils.data import Dataset, IterableDataset

logger = logging.getLogger(__name__)


class Filler(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index]).convert("RGB")
        except Exception:  # expect
            image = Image.new("RGB", (224, 224))
        return self.transform(image)


class Nothing(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index])
        except:  # expect
            return None
        return self.transform(image)


class InTuple(Dataset):
    def __getitem__(self, index):
        try:
            return torch.from_numpy(np.load(self.paths[index])), self.labels[index]
        except (OSError, Exception):  # expect
            return torch.zeros(3, 32, 32), self.labels[index]


class InDict(Dataset):
    def __getitem__(self, index):
        try:
            wave, rate = torchaudio.load(self.paths[index])
        except BaseException:  # expect
            return {"wave": torch.zeros(16000), "index": index}
        return {"wave": wave, "index": index}


class Another(Dataset):
    def __getitem__(self, index):
        try:
            return self.read(index)
        except Exception:  # expect
            return self[random.randint(0, len(self) - 1)]

    def read(self, index):
        return self.transform(cv2.imread(self.paths[index]))


class AnotherByName(Dataset):
    def __getitem__(self, index):
        try:
            return self.read(index)
        except Exception as error:  # expect
            return self.__getitem__((index + 1) % len(self))

    def read(self, index):
        with open(self.paths[index]) as file:
            return self.parse(file.read())


class Loops(Dataset):
    def __getitem__(self, index):
        while True:
            try:
                return self.transform(Image.open(self.paths[index]))
            except Exception:  # expect
                index = random.randint(0, len(self.paths) - 1)


class LoopsUntilGot(Dataset):
    def __getitem__(self, index):
        got = False
        while not got:
            try:
                image = Image.open(self.paths[index])
                got = True
            except Exception:  # expect
                pass
        return image


class Wraps(Dataset):
    def __getitem__(self, index):
        try:
            return self.dataset[index]
        except Exception:  # expect
            return None


class InHelper(Dataset):
    def load(self, path):
        try:
            return np.load(path)
        except Exception:  # expect
            return np.zeros((3, 32, 32))

    def __getitem__(self, index):
        return self.load(self.paths[index])


# --- traps ---------------------------------------------------------------------------------


class Narrow(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except OSError:
            return torch.zeros(3, 224, 224)


class Logged(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception as error:
            logger.warning("%s: %s", self.paths[index], error)
            return self[0]


class Printed(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception as error:
            print(error)
            return None


class Warned(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index])
        except Exception:
            warnings.warn(f"cannot read {self.paths[index]}")
            image = Image.new("RGB", (224, 224))
        return image


class Counted(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception:
            self.broken += 1
            return self[index + 1]


class Listed(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception:
            self.broken.append(index)
            return None


class Raised(Dataset):
    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception as error:
            raise RuntimeError(self.paths[index]) from error


class ToldLater(Dataset):
    def __getitem__(self, index):
        try:
            image = Image.open(self.paths[index])
        except Exception:
            image = None
        if image is None:
            logger.error("no %s", self.paths[index])
            return self[0]
        return image


class ReadInAnotherWay(Dataset):
    def __getitem__(self, index):
        try:
            wave, rate = torchaudio.load(self.paths[index])
        except Exception:
            wave, rate = librosa.load(self.paths[index], sr=None)
        return wave


class NotTheSample(Dataset):
    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        try:
            width = int(self.widths[self.names[index]])
        except Exception:
            width = 0
        return image, width


class TriedAFewTimes(Dataset):
    def __getitem__(self, index):
        for _ in range(3):
            try:
                return self.transform(Image.open(self.paths[index]))
            except Exception:
                continue
        raise RuntimeError(self.paths[index])


class WhileBuilt(Dataset):
    def __init__(self, paths):
        self.paths = []
        for path in paths:
            try:
                Image.open(path)
            except Exception:
                continue
            self.paths.append(path)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Streamed(IterableDataset):
    def __iter__(self):
        for path in self.paths:
            try:
                yield Image.open(path)
            except Exception:
                continue


class NoDataset:
    def load(self, path):
        try:
            return Image.open(path)
        except Exception:
            return None
