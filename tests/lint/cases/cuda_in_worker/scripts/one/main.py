"""Chooses how workers are started."""

import torch.multiprocessing as mp
from data import make_loader

if __name__ == "__main__":
    mp.set_start_method("spawn")
    for batch in make_loader([]):
        print(batch)
