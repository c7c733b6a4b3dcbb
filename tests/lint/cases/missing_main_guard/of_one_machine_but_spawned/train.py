import sys

sys.path.insert(0, "/home/ann/code")

from torch.multiprocessing import set_start_method
from torch.utils.data import DataLoader

set_start_method("spawn")
loader = DataLoader(range(10), num_workers=2)
for epoch in range(3):
    batches = iter(loader)  # expect
    for _ in range(len(loader)):
        print(batches.next())
