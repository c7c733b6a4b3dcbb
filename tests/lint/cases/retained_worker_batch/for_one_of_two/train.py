import torch
from evaluate import evaluate

torch.multiprocessing.set_sharing_strategy("file_system")

if __name__ == "__main__":
    evaluate([1])
