from data import (
    GoneThroughElsewhere,
    GoneThroughForOneText,
    InEitherBranch,
    InTheWayOfAnother,
    MpiiFromCoco,
    NamedForMany,
    NobodySays,
    OfSound,
    OnlyInItsFormat,
    PascalVOCBoxes,
    Small,
    SmallButWide,
    Untold,
    UntoldOfMany,
    UntoldOfPublic,
)
from torch.utils.data import DataLoader


def loaders(path, transform, workers):
    for kind in (Small, SmallButWide, NobodySays, OfSound):
        yield DataLoader(kind(path), num_workers=workers)
    for kind in (Untold, UntoldOfMany, UntoldOfPublic, OnlyInItsFormat, NamedForMany):
        yield DataLoader(kind(path, transform), num_workers=workers)
    for kind in (GoneThroughElsewhere, GoneThroughForOneText, PascalVOCBoxes, MpiiFromCoco, InTheWayOfAnother):
        yield DataLoader(kind(path, transform), num_workers=workers)
    yield DataLoader(InEitherBranch(path, workers), num_workers=workers)
