import argparse

from torch.utils.data import DataLoader

import data

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=4)
parser.add_argument("--readers", type=int, default=16)
parser.add_argument("--threads", type=int)
args = parser.parse_args()


def loaders(path, decode, tokenizer):
    return (
        DataLoader(data.Tracks(path), num_workers=4),
        DataLoader(data.AskedFor(path), num_workers=args.workers),
        DataLoader(data.AskedFor(path)),
        DataLoader(data.MoreWorkers(path), num_workers=8),
        DataLoader(data.ManyWorkers(path), num_workers=16),
        DataLoader(data.OnceManyWorkers(path), num_workers=2),
        DataLoader(data.OnceManyWorkers(path), num_workers=args.readers),
        DataLoader(data.NobodyKnows(path), num_workers=args.threads),
        DataLoader(data.WithLists(path), num_workers=4),
        DataLoader(data.WithRecords(path), num_workers=4),
        DataLoader(data.HandedOn(path, decode), num_workers=4),
        DataLoader(data.HandedOnByMore(path, decode), num_workers=8),
        DataLoader(data.Tokens(path, tokenizer), num_workers=4),
    )
