import torch


def to_device(batch, device):
    if isinstance(batch, torch.Tensor):
        return batch.to(device)  # expect
    if isinstance(batch, dict):
        return {name: to_device(part, device) for name, part in batch.items()}
    return [to_device(part, device) for part in batch]


def to_device_at_once(batch, device):
    return [part.to(device, non_blocking=True) for part in batch]


def model_to(model, device):
    return model.to(device)
