import torch
from evaluate import evaluate


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_system")
    evaluate([1])
