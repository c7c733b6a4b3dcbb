import numpy as np
import torch
from torch.utils.data import DataLoader

from shapes import logger, wait_for_copies, writer

device = torch.device("cuda")
cpu = torch.device("cpu")


# --- read at once ---------------------------------------------------------------------------


def numpy_in_one_breath(mask):
    frame = mask.mul(255).byte().to("cpu", non_blocking=True).numpy()  # expect
    return frame.astype(np.uint8)


def list_in_one_breath(scores):
    return scores.to("cpu", non_blocking=True).tolist()  # expect


def item_in_one_breath(loss):
    return loss.to(device="cpu", non_blocking=True).item()  # expect


def copied_again(weight):
    return weight.detach().to(cpu, non_blocking=True).float().clone()  # expect


def compared(x, y):
    x = x.cuda().to("cpu", non_blocking=True)  # expect
    y = y.cuda().to("cpu", non_blocking=True)  # expect
    return x == y


# --- read later -----------------------------------------------------------------------------


def read_in_the_next_lines(model, images):
    scores = model(images.to(device)).to("cpu", non_blocking=True)  # expect
    labels = scores.argmax(1)
    print(labels)


def arithmetic(total, loss):
    part = loss.detach().to("cpu", non_blocking=True)  # expect
    total = total + part * 2
    return total


def printed(loss):
    host = loss.to(torch.device("cpu"), non_blocking=True)  # expect
    print("loss", host)


def indexed_then_read(scores):
    host = scores.to("cpu", non_blocking=True)  # expect
    best = host[0]
    return float(best)


def read_in_a_loop(scores, targets):
    host = scores.to("cpu", non_blocking=True)  # expect
    kept = []
    for i, target in enumerate(targets):
        kept.append(host[i].numpy().round(target))
    return kept


def collected_and_joined(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    parts = []
    for images in loader:
        out = model(images.to(device, non_blocking=True))
        out = out.to("cpu", non_blocking=True)  # expect
        parts.append(out)
    return torch.cat(parts)


def collected_in_place(model, images, steps):
    kept = []
    for _ in range(steps):
        kept.append(model(images).to("cpu", non_blocking=True))  # expect
    return np.stack(kept)


def into_a_row(gradients, rows, offset):
    rows[offset : offset + 8] = gradients.sum(0).to("cpu", non_blocking=True)  # expect


def pinned_buffer(model, images, size):
    host = torch.empty(size, pin_memory=True)
    out = model(images.cuda())
    host.copy_(out, non_blocking=True)  # expect
    return host.numpy().mean()


def pinned_later(model, images, size):
    host = torch.zeros(size).pin_memory()
    host.copy_(model(images.cuda()), non_blocking=True)  # expect
    for value in host:
        writer.write(float(value))


class Meter:
    def update(self, outputs):
        self.host = outputs.to("cpu", non_blocking=True)  # expect
        return self.host.sum()


# --- traps: something waits -----------------------------------------------------------------


def synchronized(outputs):
    host = outputs.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    return host.numpy().tolist()


def synchronized_between_the_views(ids):
    view = ids.to("cpu", non_blocking=True).numpy()
    torch.cuda.synchronize()
    return view.tolist()


def event_awaited(outputs):
    host = outputs.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    return host.tolist()


def stream_awaited(outputs, stream):
    with torch.cuda.stream(stream):
        host = outputs.to("cpu", non_blocking=True)
    stream.synchronize()
    return host.tolist()


def waits_in_a_helper(outputs):
    host = outputs.to("cpu", non_blocking=True)
    finish()
    return host.tolist()


def finish():
    torch.cuda.current_stream().synchronize()


def waits_elsewhere(outputs):
    host = outputs.to("cpu", non_blocking=True)
    wait_for_copies()
    return host.tolist()


def blocking_copy_after(outputs, loss):
    host = outputs.to("cpu", non_blocking=True)
    value = loss.item()
    return host.tolist(), value


def blocking_copy_of_the_same_batch(features, index):
    features = features.to("cpu", non_blocking=True)
    index = index.to("cpu", non_blocking=False)
    for start, end in zip(index[:-1], index[1:]):
        writer.write(features[start:end])


def blocking_copy_as_an_argument(truth, scores, loss):
    truth = truth.detach().to("cpu", non_blocking=True)
    scores = scores.detach().to("cpu", non_blocking=True)
    logger.update(true=truth, pred=scores, loss=loss.detach().cpu().item())
    return scores.tolist()


def waits_once_for_all(model, batches):
    parts = []
    for images in batches:
        parts.append(model(images).to("cpu", non_blocking=True))
    torch.cuda.synchronize()
    return torch.cat(parts)


def asked_first(outputs, event):
    host = outputs.to("cpu", non_blocking=True)
    event.record()
    while not event.query():
        writer.flush()
    return host.tolist()


# --- traps: nobody reads on the host --------------------------------------------------------


def blocking(outputs):
    return outputs.to("cpu").numpy(), outputs.to("cpu", non_blocking=False).numpy(), outputs.cpu().numpy()


def to_the_device(images, labels):
    images = images.to(device, non_blocking=True)
    print(images, labels.cuda(non_blocking=True).sum())


def offloaded_and_back(states, i, x):
    states[i] = states[i].to("cpu", non_blocking=True)
    x = x.to(cpu, non_blocking=True)
    return x.to(device, non_blocking=True)


def offloaded(inputs):
    return tuple(x.to(torch.device("cpu"), non_blocking=True) for x in inputs)


def kept_for_later(store, key, hidden):
    hidden = hidden.detach().to("cpu", non_blocking=True)
    store[key] = hidden
    return hidden


def handed_back(outputs):
    return outputs.detach().to("cpu", non_blocking=True)


def only_its_shape(outputs):
    host = outputs.to("cpu", non_blocking=True)
    print(host.shape, host.dtype, len(host), host.size(0), host.device)
    return host


def a_model(ema, unet):
    ema.to(device="cpu", non_blocking=True)
    ema.step(unet.parameters())


def already_on_the_host(dataset):
    for images in DataLoader(dataset, num_workers=2):
        images = images.to("cpu", non_blocking=True).numpy()
        print(images.mean())


def to_a_device_buffer(static, images):
    static.copy_(images, non_blocking=True)
    return static.sum() + 1


def pageable_buffer(model, images, size):
    host = torch.empty(size)
    host.copy_(model(images.cuda()), non_blocking=True)
    return host.tolist()


def staged_on_the_host(array, size):
    staging = torch.empty(size, pin_memory=True)
    staging.copy_(torch.from_numpy(array), non_blocking=True)
    return staging.sum()


def rebound(outputs, other):
    host = outputs.to("cpu", non_blocking=True)
    host = other
    return host.sum()


class AnotherAttribute:
    def update(self, outputs):
        self.host = outputs.to("cpu", non_blocking=True)
        writer.write(self)
        return self.total.sum()


class Stats:
    def __init__(self):
        self.host = {"loss": torch.zeros(1).pin_memory()}
        self.device = {}

    def copy(self):
        for name in self.host:
            self.host[name].copy_(self.device[name], non_blocking=True)

    def value(self, name):
        return self.host[name].item()
