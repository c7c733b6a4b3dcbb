import argparse
import json

import torch
from torch.utils.data import DataLoader, TensorDataset


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--num_workers", type=int, default=0)
    config = parser.parse_args().__dict__
    if config["config"]:
        with open(config["config"]) as file:
            config.update(json.load(file))
    return config


def main(model):
    config = options()
    data = TensorDataset(torch.rand(99, 8))
    loader = DataLoader(data, collate_fn=lambda rows: rows, num_workers=config["num_workers"])  # expect advice
    for batch in loader:
        model(batch)
