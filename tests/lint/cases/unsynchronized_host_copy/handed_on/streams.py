import torch


def as_array(mask):
    return mask.detach().to("cpu", non_blocking=True).numpy()


class Pending:
    def __init__(self, mask):
        self.array = as_array(mask)
        self.done = torch.cuda.Event()
        self.done.record()

    def get(self):
        self.done.synchronize()
        return self.array
