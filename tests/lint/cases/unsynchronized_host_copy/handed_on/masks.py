import torch


def as_array(mask):
    return mask.detach().to("cpu", non_blocking=True).numpy()  # expect


def as_named_array(mask):
    array = torch.squeeze(mask).to("cpu", non_blocking=True).numpy()  # expect
    return array


def stored(masks, frame, mask):
    masks[frame] = mask.to("cpu", non_blocking=True).numpy()  # expect


def written(writer, mask):
    writer.write(mask.to("cpu", non_blocking=True).numpy())  # expect


# --- traps ----------------------------------------------------------------------------------


def as_tensor(mask):
    return mask.detach().to("cpu", non_blocking=True)


def stored_as_tensor(masks, frame, mask):
    masks[frame] = mask.to("cpu", non_blocking=True)


def blocking(mask):
    return mask.to("cpu").numpy()
