from engine import Engine
from torch.utils.data import DataLoader


