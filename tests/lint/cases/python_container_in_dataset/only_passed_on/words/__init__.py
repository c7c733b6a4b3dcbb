from torch.utils.data import DataLoader

from .spoken import Spoken, Whispered

__all__ = ("DataLoader", "Spoken", "Whispered")
