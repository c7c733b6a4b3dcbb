import torch


class Trainer:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    def step(self, batch):
        if isinstance(batch, list):
            for i, part in enumerate(batch):
                if torch.is_tensor(part):
                    batch[i] = part.to(self.device, non_blocking=True)
        elif isinstance(batch, dict):
            for key, part in batch.items():
                batch[key] = part.to(self.device, non_blocking=True)  # expect
        else:
            batch = batch.to(self.device, non_blocking=True)
        self.model(batch)
