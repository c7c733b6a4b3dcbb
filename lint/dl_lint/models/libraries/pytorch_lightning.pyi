from lightning.pytorch import *
