import random

import librosa
import nibabel as nib
import numpy as np
import soundfile as sf
import torch
import torch.nn.functional as F
import torchaudio
from torch.utils.data import Dataset
from torchvision.io import read_video


class Speech(Dataset):
    def __getitem__(self, index):
        wave, rate = sf.read(self.paths[index])  # expect
        start = random.randint(0, len(wave) - self.length)
        return wave[start : start + self.length]


class Padded(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])  # expect
        if wave.shape[1] < self.length:
            wave = F.pad(wave, (0, self.length - wave.shape[1]))
        start = torch.randint(0, wave.shape[1] - self.length + 1, (1,)).item()
        wave = wave[:, start : start + self.length]
        return self.mel(wave)


class PaddedOrCut(Dataset):
    def __getitem__(self, index):
        wave, _ = librosa.load(self.paths[index], sr=16000)  # expect
        size = wave.shape[0]
        if size > self.length:
            start = np.random.randint(size - self.length)
            wave = wave[start : start + self.length]
        else:
            wave = np.pad(wave, (0, self.length - size))
        return torch.from_numpy(wave)


class Mono(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])  # expect
        wave = wave.mean(dim=0)
        wave = wave / 32768.0
        start = random.randint(0, wave.size(0) - self.length)
        return wave[start : start + self.length]


class FirstChannel(Dataset):
    def __getitem__(self, index):
        wave = torchaudio.load(self.paths[index])[0]  # expect
        wave = wave[0]
        start = random.randint(0, len(wave) - self.length)
        return wave[start : start + self.length]


class InHelpers(Dataset):
    def __getitem__(self, index):
        wave, rate = read_wave(self.paths[index])
        return self.crop(wave)

    def crop(self, wave):
        start = random.randint(0, len(wave) - self.length)
        return wave[start : start + self.length]


def read_wave(path):
    wave, rate = sf.read(path, dtype="float32")  # expect
    return wave, rate


class Clip(Dataset):
    def __getitem__(self, index):
        frames, audio, info = read_video(self.paths[index], pts_unit="sec")  # expect
        start = random.randint(0, frames.shape[0] - 16)
        return frames[start : start + 16]


class Slices(Dataset):
    def __getitem__(self, index):
        volume = nib.load(self.paths[index]).get_fdata()  # expect
        first = random.randint(0, volume.shape[-1] - 32)
        return volume[..., first : first + self.depth]


class Features(Dataset):
    def __getitem__(self, index):
        features = torch.from_numpy(np.load(self.paths[index]))  # expect
        length = min(self.longest, features.shape[0])
        return features[:length]


class Chunks(Dataset):
    def __getitem__(self, index):
        tokens = torch.load(self.paths[index])  # expect
        start = random.randint(0, len(tokens) - self.length)
        return tokens[start : start + self.length]


# --- traps ---------------------------------------------------------------------------------


class AsksForPart(Dataset):
    def __getitem__(self, index):
        start = random.randint(0, sf.info(self.paths[index]).frames - self.length)
        wave, rate = sf.read(self.paths[index], start=start, stop=start + self.length)
        return wave[: self.length]


class AsksForFrames(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index], self.start, self.length)
        return wave[:, : self.length]


class AsksSomehow(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index], **self.options)
        return wave[:, : self.length]


class Whole(Dataset):
    def __getitem__(self, index):
        wave, rate = sf.read(self.paths[index])
        return torch.from_numpy(wave)


class WholeSpectrum(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])
        spectrum = self.mel(wave)
        return spectrum[:, :, : self.length]


class CutIfTooLong(Dataset):
    def __getitem__(self, index):
        wave, rate = sf.read(self.paths[index])
        if len(wave) > self.longest:
            wave = wave[: self.longest]
        return self.features(wave)


class NormalisedAsAWhole(Dataset):
    def __getitem__(self, index):
        wave, rate = librosa.load(self.paths[index], sr=None)
        wave = wave / np.abs(wave).max()
        start = random.randint(0, len(wave) - self.length)
        return wave[start : start + self.length]


class CentredAsAWhole(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])
        wave = wave - wave.mean()
        return wave[:, : self.length]


class Resampled(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])
        wave = self.resample(wave)
        return wave[:, : self.length]


class Cached(Dataset):
    def __getitem__(self, index):
        self.wave, rate = sf.read(self.paths[index])
        return self.wave[: self.length]


class TwoViews(Dataset):
    def __getitem__(self, index):
        wave, rate = sf.read(self.paths[index])
        return wave[: self.length], wave


class Channel(Dataset):
    def __getitem__(self, index):
        wave, rate = torchaudio.load(self.paths[index])
        return wave[:1], wave[0]


class LastCutOff(Dataset):
    def __getitem__(self, index):
        wave, rate = sf.read(self.paths[index])
        return wave[:-1]


class EverySecond(Dataset):
    def __getitem__(self, index):
        frames, audio, info = read_video(self.paths[index])
        return frames[::2]


class Built(Dataset):
    def __init__(self, path, length):
        wave, rate = sf.read(path)
        self.wave = wave[:length]

    def __getitem__(self, index):
        return self.wave[index]


def segment(path, length):
    wave, rate = sf.read(path)
    return wave[:length]


class MadeQuieterUntilItFits(Dataset):
    def __getitem__(self, index):
        wave, _ = torchaudio.load(self.paths[index])  # expect
        while self.is_loud():
            wave = wave * 0.5
        start = random.randint(0, wave.shape[1] - self.length)
        return wave[:, start : start + self.length]


class Mapped(Dataset):
    def __getitem__(self, index):
        features = np.load(self.paths[index], mmap_mode="r")
        return features[: self.longest]


class MappedByPosition(Dataset):
    def __getitem__(self, index):
        return np.load(self.paths[index], "r")[: self.longest]


class Archive(Dataset):
    def __getitem__(self, index):
        return np.load(self.paths[index])["features"][: self.longest]


class Normalised(Dataset):
    def __getitem__(self, index):
        features = np.load(self.paths[index])
        features = (features - features.mean()) / features.std()
        return features[: self.longest]


class MappedTensor(Dataset):
    def __getitem__(self, index):
        return torch.load(self.paths[index], mmap=True)[: self.length]


class Checkpoint(Dataset):
    def __getitem__(self, index):
        return torch.load(self.paths[index])["tokens"]
