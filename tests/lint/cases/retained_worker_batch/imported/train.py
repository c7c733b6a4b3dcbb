import torch
from evaluate import evaluate

torch.multiprocessing.set_sharing_strategy("file_system")


def main(dataset):
    evaluate(dataset)


if __name__ == "__main__":
    main([1])
