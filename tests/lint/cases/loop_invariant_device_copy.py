from argparse import ArgumentParser
from functools import lru_cache

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from shapes import PIXEL_MEAN, anchors_for, load_weights

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch_size = 64
MEAN = torch.tensor([0.485, 0.456, 0.406])


def the_same_tensor(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    weights = torch.tensor([1.0, 2.0, 0.5])
    for images, labels in loader:
        loss = model(images.to(device), labels, weights.to(device))  # expect
        loss.backward()


def of_the_module(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        images = images.to(device, non_blocking=True)
        model(images - MEAN.cuda())  # expect


def from_numpy(model, dataset):
    table = torch.from_numpy(np.ones((100, 100)))
    for images in DataLoader(dataset, num_workers=4):
        lookup = table.to(device, torch.float32)  # expect
        model(images, lookup)


def built_each_time(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4):
        mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).to(device)  # expect
        scale = torch.tensor([255.0], device=device)  # expect
        model((images.to(device) / scale) - mean, labels)


def of_a_constant_of_another_package(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4):
        mean = torch.as_tensor(PIXEL_MEAN).to(device)[None, :, None, None]  # expect
        ranks = torch.LongTensor(range(8732)).unsqueeze(0).to(device)  # expect
        model(images.to(device) - mean, labels, ranks)


def built_from_options(model, dataset, args):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(dataset, num_workers=4))
    for batch in loader:
        guidance = torch.tensor([args.guidance_scale], device=accelerator.device)  # expect
        guidance = guidance.expand(batch.shape[0])
        model(batch, guidance)


def built_if_asked_for(model, dataset, args):
    for batch in DataLoader(dataset, num_workers=4):
        if args.guided:
            guidance = torch.tensor([args.guidance_scale], device="cuda")  # expect
        else:
            guidance = None
        model(batch, guidance)


def labels_of_a_gan(generator, dataset):
    loader = DataLoader(dataset, batch_size=batch_size, num_workers=4, drop_last=True)
    for images, _ in loader:
        real = torch.ones(batch_size, 1).to(device)  # expect
        fake = torch.zeros(batch_size, 1).cuda()  # expect
        generator(images, real, fake)


def where_the_batch_is(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        images = images.to(device)
        mean = torch.tensor([0.485, 0.456, 0.406], dtype=images.dtype, device=images.device)  # expect
        model(images, mean)


def drawn_by_hand(model, dataset, steps):
    weights = torch.tensor([1.0, 2.0])
    batches = iter(DataLoader(dataset, num_workers=4))
    for _ in range(steps):
        model(next(batches), weights.cuda())  # expect


class Trainer:
    def __init__(self, model, dataset):
        self.model = model
        self.loader = DataLoader(dataset, num_workers=4)
        self.weights = torch.tensor([1.0, 2.0])
        self.anchors = torch.ones(9, 2).to(device)

    def train(self):
        for images, labels in self.loader:
            self.model(images, labels, self.weights.to(device))  # expect
            self.model(images, labels, self.anchors.to(device))


def over_batches_of_unknown_source(model, batches, optimizer):
    for images in batches:
        scale = torch.tensor([1.0, 2.0]).cuda()  # expect
        model(images.cuda() * scale).mean().backward()
        optimizer.step()


def in_parts_of_batches(model, batches, optimizer):
    for batch in batches:
        for part in batch:
            counted = torch.zeros(part.shape[0], 3).cuda()  # expect
            model(part.cuda(), counted).mean().backward()
        optimizer.step()


# --- traps ----------------------------------------------------------------------------------


def copied_once(model, dataset):
    weights = torch.tensor([1.0, 2.0]).to(device)
    for images, labels in DataLoader(dataset, num_workers=4):
        model(images.to(device), labels.cuda(), weights)


def of_what_another_package_holds(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4):
        model(images.to(device), torch.as_tensor(anchors_for.table).to(device), labels)  # which may be there already


def depends_on_the_batch(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4):
        real = torch.ones(images.size(0), 1).to(device)  # expect
        sizes = torch.tensor([image.shape[-1] for image in images]).to(device)
        count = len(labels)
        index = torch.arange(count).unsqueeze(0).cuda()
        places = torch.arange(count).float().cuda()  # expect
        first = torch.tensor([count], device=device)
        model(images, real, sizes, index, first, places).backward()


def depends_on_the_step(model, dataset, schedule):
    for step, images in enumerate(DataLoader(dataset, num_workers=4)):
        t = torch.tensor([step]).to(device)
        rate = torch.tensor(schedule[step], device=device)
        model(images, t, rate)


def drawn_anew(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        noise = torch.randn(batch_size, 100).to(device)
        mask = torch.bernoulli(torch.full((10,), 0.5)).to(device)
        order = torch.randperm(10).cuda()
        choice = torch.tensor([np.random.randint(10)]).to(device)
        weight = torch.tensor(np.random.uniform(0.0, 1.0), device=device)
        model(images, noise, mask, order, choice, weight)


def changed_in_the_loop(model, dataset):
    history = torch.zeros(10)
    total = torch.zeros(10)
    for images in DataLoader(dataset, num_workers=4):
        score = model(images, history.to(device))
        history = torch.roll(history, 1)
        total += score.cpu()
        model(images, total.to(device))


def moved_for_good(model, dataset):
    weights = torch.tensor([1.0, 2.0])
    for images in DataLoader(dataset, num_workers=4):
        weights = weights.to(images.device)
        model(images, weights)


def filled_in_the_loop(model, dataset):
    buffer = torch.zeros(10, 3)
    for step, images in enumerate(DataLoader(dataset, num_workers=4)):
        buffer[step] = images.mean()
        model(images, buffer.to(device))
    staging = torch.zeros(10, 3)
    for images in DataLoader(dataset, num_workers=4):
        staging.copy_(images)
        model(staging.to(device))


def made_on_the_device(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        zeros = torch.zeros(batch_size, 1, device=device)
        steps = torch.arange(10, device="cuda")
        model(images, zeros.to(device), steps)


def on_the_host(model, dataset):
    weights = torch.tensor([1.0, 2.0])
    for images in DataLoader(dataset, num_workers=4):
        model(images, weights.to(torch.float64), weights.to("cpu"), torch.tensor([1.0]))


def modules(model, teacher, dataset):
    layer = nn.Linear(3, 3)
    for images in DataLoader(dataset, num_workers=4):
        model(images, teacher.to(device), layer.to(device))


def already_a_tensor(model, dataset, weights):
    for images in DataLoader(dataset, num_workers=4):
        model(images, torch.as_tensor(weights, device=device), torch.tensor(images.mean(), device=device))


def unknown_things(model, dataset, weights):
    loaded = load_weights()
    for images in DataLoader(dataset, num_workers=4):
        model(images, weights.to(device), loaded.to(device), anchors_for(3).to(device))


def every_epoch(model, dataset):
    weights = torch.tensor([1.0, 2.0])
    loader = DataLoader(dataset, num_workers=4)
    for _ in range(10):
        on_device = weights.to(device)
        for images in loader:
            model(images, on_device)


def now_and_then(model, dataset):
    for step, images in enumerate(DataLoader(dataset, num_workers=4)):
        model(images)
        if step % 100 == 0:
            model(images, torch.tensor([1.0]).to(device))
        if step == 0:
            model(MEAN.to(device))


def looks_at_gradients(model, clouds, found):
    for points in clouds:
        points = points.cuda().requires_grad_()
        model(points * torch.tensor([1.0, 2.0]).cuda()).sum().backward()
        found.append(points.grad)


def unless_asked_for(model, dataset, optimizer):
    parser = ArgumentParser()
    parser.add_argument("--weighted", action="store_true")
    args = parser.parse_args()
    for images in DataLoader(dataset, num_workers=4):
        found = model(images.cuda())
        if args.weighted:
            found = found * torch.tensor([1.0, 2.0]).cuda()
        refined(found, args).mean().backward()
        optimizer.step()


def refined(found, args):
    return found + torch.zeros(found.shape[0]).to(found.device) if args.weighted else found


def not_a_batch_loop(model, names):
    for name in names:
        model(name, torch.tensor([1.0]).to(device))
    while model.training:
        model(torch.tensor([1.0], device=device))


def per_batch_device(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        try:
            model(images)
        except RuntimeError:
            model(images, torch.tensor([0.0]).to(device))


# --- where the host waits in each pass in any case ------------------------------------------------

CHOSEN = [1, 2, 3, 5]


def evaluate(model, dataset, results):
    axis = torch.tensor([0.0, 0.0, 1.0])
    for images in DataLoader(dataset, num_workers=4):
        found = model(images) * torch.tensor([0, 0, 1], device="cuda").view(1, 3)  # expect
        found = found[torch.tensor(CHOSEN, device=found.device)] + axis.to("cuda")  # expect
        results.append(found.cpu().numpy())


def evaluate_a_part(model, dataset):
    with torch.no_grad():
        for images in DataLoader(dataset, num_workers=4):
            model(images, torch.tensor(CHOSEN[1:], device="cuda"))  # expect


def evaluate_a_part_of_many(model, dataset, weights):
    with torch.no_grad():
        for images in DataLoader(dataset, num_workers=4):
            model(images, torch.tensor(weights[1:], device="cuda"))  # expect


def evaluate_with_many(model, dataset, results):
    weights = torch.zeros(100_000)
    grid = torch.tensor([0.0, 1.0] * 5000)
    for images in DataLoader(dataset, num_workers=4):
        results.append(model(images, weights.to("cuda")).cpu())  # expect
        results.append(model(images, grid.to("cuda")).cpu())  # expect


def evaluate_without_waiting(model, dataset, results):
    for images in DataLoader(dataset, num_workers=4):
        results.append(model(images, torch.tensor([0, 0, 1], device="cuda")))  # expect


def train_and_read(model, optimizer, dataset):
    for images in DataLoader(dataset, num_workers=4):
        loss = model(images, torch.tensor([0, 0, 1], device="cuda"))  # expect
        loss.backward()
        optimizer.step()
        print(loss.item())


# --- what is assigned anew before it is read ----------------------------------------------------------


def assigned_anew(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        cost = torch.tensor(0.0).to("cuda")  # expect
        other = torch.tensor(0.0).to("cuda")  # expect
        part = torch.tensor(0.0).to("cuda")  # expect
        found = model(images)
        cost = found.mean()
        other = other + found.sum()
        if images.shape[0] > 1:
            part = found[0]
        (cost + other + part).backward()


def in_place_of_a_loss(model, dataset, device, mixed):
    for images, labels in DataLoader(dataset, num_workers=4):
        outputs = model(images, labels)
        extra = outputs.extra if mixed else torch.tensor(0.0, device=device)  # expect
        (outputs.loss + extra).backward()


def with_or_without(model, dataset, device, teacher=None):
    for images, labels in DataLoader(dataset, num_workers=4):
        if teacher is None:
            loss = torch.tensor(0.0, device=device)  # expect
        else:
            loss = teacher(images, labels)
        (model(images) + loss).backward()


def with_and_without(model, dataset, device, teacher):
    with_or_without(model, dataset, device, teacher)
    with_or_without(model, dataset, device)


def until_something_comes(model, dataset, device, weighted):
    for images, labels in DataLoader(dataset, num_workers=4):
        extra = torch.tensor(0.0, device=device)  # expect
        if weighted(labels):
            extra = model.extra(images)
        (model(images, labels) + extra).backward()


def a_number_of_its_own(model, dataset, device):
    for images, labels in DataLoader(dataset, num_workers=4):
        scale = torch.tensor(0.5, device=device)  # expect
        (model(images, labels) * scale).backward()


def results_are_added_up(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        total = torch.tensor(0).float().cuda()  # expect
        unused = torch.tensor(0).float().cuda()  # expect
        for score in model(images):
            total += score
        print(total, unused)


def summed_over_all_processes(model, optimizer, dataset):
    for images in DataLoader(dataset, num_workers=4):
        flag = torch.tensor([0]).cuda()  # expect
        torch.distributed.all_reduce(flag)
        model(images, flag).backward()


def one_zero_instead(model, dataset, device, scored):
    for images in DataLoader(dataset, num_workers=4):
        if scored:
            loss = model.score(images)
        else:
            loss = torch.zeros(1, requires_grad=True).float().to(device)  # expect
        extra = further = torch.FloatTensor([0]).cuda()  # expect
        if scored:
            extra = model.extra(images)
        many = torch.zeros(5).to(device)  # expect
        (loss + extra + further + many.sum()).backward()


# --- in what the loop calls ---------------------------------------------------------------------------

STRIDES = [8.0, 16.0, 32.0]
SEEN = [0.0]
LEVEL = 3
STATE = 0.0


def masked_mean(difference, mask):
    return (difference * mask).sum() / torch.max(mask.sum(), torch.tensor(1.0).to(mask.device))  # expect


def shifted(found, reach, extra=2):
    steps = torch.linspace(-reach, reach, 2 * LEVEL + extra)
    steps = steps.view(1, -1).to(found.device)  # expect
    return found + steps + torch.tensor(STRIDES).cuda()  # expect


class Weighting(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.priors = torch.from_numpy(np.array([1.0, 2.0, 3.0]))

    def forward(self, found):
        weight = torch.from_numpy(np.array([1.0, 1.0, 3.0])).to(dtype=torch.float32, device=found.device)  # expect
        if found.is_cuda:
            weight = weight + torch.zeros(self.size).cuda()  # expect
        return self.weighted(found * weight)

    def weighted(self, found):
        return found * self.priors.cuda()  # expect


class Lookup:
    def __init__(self, found, radius):
        self.found = found
        self.count = len(found)
        self.radius = radius

    def __call__(self, at):
        counts = torch.arange(self.count).to(at.device)  # expect
        return at + torch.linspace(-self.radius, self.radius, 9).to(at.device) + counts  # expect


class Sampled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, found, radius):
        ctx.radius = radius
        return found


class Network(nn.Module):
    def forward(self, images):
        lookup = Lookup(images, 4)
        for _ in range(16):
            images = lookup(images)
        return images


def if_asked_for(found, args):
    if args.mode == "scaled":
        return found * torch.tensor(0.5).to(found.device)  # expect
    return found


def calls_them(dataset, optimizer):
    parser = ArgumentParser()
    parser.add_argument("--mode", default="scaled")
    args = parser.parse_args()
    net = nn.parallel.DataParallel(Network()).cuda()
    weighting = Weighting(3)
    for images in DataLoader(dataset, num_workers=4):
        found = if_asked_for(weighting(net(images.cuda())), args)
        masked_mean(shifted(found, LEVEL), images).backward()
        optimizer.step()


# --- traps in what the loop calls ---------------------------------------------------------------------


def of_what_is_passed(found, size, rate):
    sizes = torch.tensor([size]).to(found.device)
    rates = torch.tensor(rate).to(found.device)
    counts = torch.arange(len(found)).to(found.device)  # expect
    return found * sizes * rates * counts * torch.tensor([0.5 * rate, 1.0]).cuda()


def at_times(found, mask=None, deep=False):
    if found.sum() > 0:
        found = found + torch.tensor(1.0).to(found.device)
    if mask is None:
        mask = torch.tensor([True, False]).to(found.device)
    if deep:
        found = found + torch.tensor(2.0).to(found.device)
    if len(found) == 1:
        return found
    return found[mask] + torch.tensor(3.0).to(found.device)


def of_state(found):
    return found * torch.tensor(SEEN).to(found.device) * torch.tensor(STATE).to(found.device)


def step_state():
    global STATE
    STATE += 1.0
    SEEN[0] += 1.0


@lru_cache
def kept_table(size):
    return torch.linspace(0, 1, size).to("cuda")


def table():
    return torch.linspace(0, 1, 8).to("cuda")


def now_and_then_called(found):
    return found + torch.tensor(1.0).to(found.device)


def written_to(found):
    mask = torch.zeros(8)
    mask[: len(found)] = 1.0
    noise = torch.zeros(8)
    noise.normal_()
    total = torch.zeros(8)
    total = total + found.cpu()
    return mask.to(found.device) + noise.to(found.device) + total.to(found.device)


def drawn(found):
    alpha = np.random.beta(1.0, 1.0)
    return found * torch.tensor(alpha).to(found.device) + torch.tensor([np.random.rand()]).cuda()


def made_there(found):
    return found + torch.zeros(3, device=found.device).to(found.device) + torch.zeros(3).to("cpu")


class Twice(nn.Module):
    def __init__(self, scaled):
        super().__init__()
        self.scaled = scaled

    def forward(self, found):
        if self.scaled:
            return found * torch.tensor(0.5).to(found.device)
        return found


def never_called(found):
    return found + torch.tensor(1.0).to(found.device)


class Stateful(nn.Module):
    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer
        self.step, self.scale = 0, 1.0
        self.seen = [0.0]
        self.grid = None
        self.momentum = torch.zeros(3)
        self.register_buffer("mean", torch.tensor([0.5]))

    @property
    def rate(self):
        return 0.1 * self.step

    def grow(self, found):
        self.step += 1
        self.seen.append(1.0)
        self.momentum.mul_(0.9)
        if self.grid is None:
            self.grid = torch.linspace(0, 1, 8).to(found.device)

    def forward(self, found):
        self.grow(found)
        found = found - self.mean.to(found.device) + self.momentum.to(found.device)
        if self.training and self.step > 100:
            found = found * torch.tensor(self.scale).to(found.device)
        found = found + torch.tensor(self.seen).to(found.device)
        rate = torch.tensor(self.optimizer.param_groups[0]["lr"]).to(found.device)
        for level in range(self.step):
            found = found + torch.tensor(level).to(found.device)
        return found * torch.tensor(self.step).to(found.device) * torch.tensor(self.rate).to(found.device) * rate


class Box:
    def __init__(self, corners):
        self.corners = corners

    def moved(self):
        return torch.tensor(self.corners).cuda()


def calls_those(dataset, optimizer, schedule):
    stateful = Stateful(optimizer)
    grid = table()
    twice = Twice(False)
    Twice(True)
    for step, images in enumerate(DataLoader(dataset, num_workers=4)):
        found = of_what_is_passed(stateful(images), images.shape[0], schedule[step])
        found = of_state(drawn(twice(made_there(at_times(found)))))
        step_state()
        if step % 100 == 0:
            found = now_and_then_called(found)
        corners = [step, 1.0]
        found = found + written_to(found) + Box(corners).moved() + grid + kept_table(8)
        found.mean().backward()
        optimizer.step()
