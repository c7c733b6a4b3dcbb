import torch
from evaluate import evaluate


def main(dataset):
    torch.multiprocessing.set_sharing_strategy("file_system")
    evaluate(dataset)


if __name__ == "__main__":
    main([1])
