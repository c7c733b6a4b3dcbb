import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=8)
opt = parser.parse_args()
