"""A script that reads its loader as it is imported; each spawned worker imports it again."""

import argparse

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor(index)


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=4)
args = parser.parse_args()

train_loader = DataLoader(Numbers(), batch_size=2, num_workers=args.workers)
plain_loader = DataLoader(Numbers(), batch_size=2)
test_loader = DataLoader(Numbers(), batch_size=2, num_workers=0)
print(len(train_loader), len(plain_loader))


def train(loader):
    for batch in loader:
        print(batch.sum())


def evaluate():
    for batch in train_loader:
        print(batch.mean())


if False:
    for batch in train_loader:  # nobody runs it
        print(batch)

for batch in plain_loader:
    print(batch)
for batch in test_loader:
    print(batch)
for row in range(10):
    print(row)

for epoch in range(3):
    for batch in train_loader:  # expect
        print(epoch, batch)

if __name__ == "__main__":
    for batch in train_loader:
        print(batch)
    train(train_loader)
    evaluate()
