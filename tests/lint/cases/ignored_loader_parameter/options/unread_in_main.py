import argparse

from torch.utils.data import DataLoader


def main(training, validation):
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", "--workers", type=int, default=4)  # expect
    parser.add_argument("--batch-size", type=int, default=64)
    args, others = parser.parse_known_args()
    return DataLoader(training, args.batch_size, shuffle=True), DataLoader(validation, args.batch_size)
