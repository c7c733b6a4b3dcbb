import math

import lightning
import mxnet
import torch
import torch.distributed as dist
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import Trainer as OfTransformers


def twice(generator, critic, dataset):
    total = 0.0
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        total += loss.item()  # expect
        cost = generator(images).mean()
        cost.backward()
        print(cost)
    return total


def three_reads(model, optimizer, dataset, seen):
    for images, labels in DataLoader(dataset, pin_memory=True):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        scores = model(images)
        right = (scores.argmax(1) == labels).sum()
        seen.append(right.item())  # expect
        loss = (scores - labels).mean()
        loss.backward()
        optimizer.step()
        seen.append(float(loss))


def write(writer, step, loss, scores):
    writer.add_scalar("loss", loss.mean().item(), step)  # expect advice
    writer.add_scalar("spread", scores.std().item(), step)


def writes(model, dataset, writer):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        scores = model(images.cuda(non_blocking=True))
        loss = scores.mean()
        loss.backward()
        write(writer, step, loss, scores)


def writes_more(model, critic, dataset, writer):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        scores = model(images.cuda(non_blocking=True))
        loss = scores.mean()
        loss.backward()
        write(writer, step, loss, scores)
        other = critic(scores).mean()
        other.backward()
        writer.add_scalar("other", other.item(), step)  # expect


def decided_now_and_then(model, dataset, writer):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        writer.add_scalar("loss", loss.item(), step)  # expect advice
        if step % 100 == 0:
            for name, weight in model.named_parameters():
                if not torch.isnan(weight.grad).any():
                    writer.add_histogram(name, weight.grad, step)


def once(model, dataset):
    total = 0.0
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        total += loss.item()  # expect advice
        seen = loss.detach().cpu().numpy()
    return total, seen


def waits_for_copy(generator, critic, dataset):
    total = 0.0
    for images in DataLoader(dataset):
        images = images.cuda()
        loss = critic(images).mean()
        loss.backward()
        total += loss.item()  # expect
        cost = generator(images).mean()
        cost.backward()
        total += cost.item()
    return total


# --- in what the step calls ----------------------------------------------------------------


def accuracy(scores, labels):
    right = scores.argmax(1).eq(labels)
    return right.float().sum().item() / labels.size(0)  # expect


def with_a_metric(model, criterion, dataset, optimizer, device):
    total, right = 0.0, 0.0
    for images, labels in DataLoader(dataset, pin_memory=True):
        labels = labels.to("cuda", non_blocking=True)
        scores = model(images.cuda(non_blocking=True))
        right += accuracy(scores, labels)
        loss = criterion(scores, labels)
        loss.backward()
        total += loss.item()
        optimizer.step()
    return total, right


class Distance(torch.nn.Module):
    def forward(self, found, wanted):
        return self.parts(found - wanted)

    def parts(self, difference):
        near, far = difference.abs().mean(), difference.square().mean()
        loss = near + far
        return loss, {"near": near.item(), "far": far.item()}  # expect advice


def with_a_criterion(model, dataset, optimizer):
    criterion = Distance()
    for images, labels in DataLoader(dataset, pin_memory=True):
        found = model(images.cuda(non_blocking=True))
        loss, parts = criterion(found, labels.cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
    return parts


class Trainer:
    def __init__(self, model, optimizer, device):
        self.model, self.optimizer, self.device = model, optimizer, device

    def step(self, batch):
        loss = self.model(batch.to(self.device, non_blocking=True)).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()  # expect advice


def with_a_trainer(model, optimizer, dataset):
    trainer = Trainer(model, optimizer, torch.device("cuda"))
    for images in DataLoader(dataset, pin_memory=True):
        print(trainer.step(images))


def told_by_one_rank(model, dataset, optimizer, rank, total=0.0):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if rank in (-1, 0):
            total += loss.item()  # expect advice


def draws_and_trains(model, optimizer, batches):
    loss = model(next(batches).cuda(non_blocking=True)).mean()
    loss.backward()
    optimizer.step()
    return loss.item()  # expect advice


def by_steps(model, optimizer, dataset, seen):
    batches = iter(DataLoader(dataset, pin_memory=True))
    for _ in range(1000):
        seen.append(draws_and_trains(model, optimizer, batches))


# --- behind a read that decides what runs next ---------------------------------------------


def waits_again_behind_a_check(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        value = loss.item()
        if not math.isfinite(value):
            raise RuntimeError(value)
        loss.backward()
        optimizer.step()
        print(loss.item())  # expect advice


def waits_again_behind_a_test(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        if torch.isnan(loss):
            continue
        loss.backward()
        optimizer.step()
        print(loss.item())  # expect advice


def waits_before_a_check(model, optimizer, dataset, seen):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        seen.append(loss.item())  # expect advice
        loss.backward()
        optimizer.step()
        if loss.item() < 0.1:
            break


class Stepping:
    def step(self, model, optimizer, batch):
        loss = model(batch.cuda(non_blocking=True)).mean()
        if torch.isnan(loss):
            raise RuntimeError
        loss.backward()
        optimizer.step()
        return loss.item()  # expect advice


def in_checked_steps(model, optimizer, dataset, seen):
    stepping = Stepping()
    for images in DataLoader(dataset, pin_memory=True):
        seen.append(stepping.step(model, optimizer, images))


def all_but_a_batch_of_one(model, optimizer, dataset, total=0.0):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        if images.shape[0] == 1:
            pass
        else:
            loss = model(images).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()  # expect advice
    return total


# --- of gradients, and behind the first step ----------------------------------------------------


def gradient_norm(parameters):
    total = 0
    for parameter in filter(lambda one: one.grad is not None, parameters):
        total += parameter.grad.norm().item() ** 2  # expect
    return total**0.5


def adversaries(generator, critic, dataset, optimizers, seen):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        critic(images).mean().backward()
        seen.append(gradient_norm(critic.parameters()))
        optimizers[0].step()
        generator(images).mean().backward()
        seen.append(gradient_norm(generator.parameters()))
        optimizers[1].step()


class Adversaries:
    def __init__(self, generator, critic, settings):
        self.generator, self.critic, self.settings, self.steps = generator, critic, settings, 0

    def to_device(self, batch):
        return batch.cuda(non_blocking=True)

    def step(self, batch, seen):
        images = self.to_device(batch[0]) if isinstance(batch, tuple) else self.to_device(batch)
        if self.steps > 0:
            loss = self.generator(images).mean()
            seen["generator"] += loss.item()  # expect advice
            loss.backward()
        if self.steps > self.settings["steps"]:
            cost = self.critic(images).mean()
            seen["critic"] += cost.item()
            cost.backward()
        self.steps += 1

    def fit(self, dataset, seen):
        for batch in DataLoader(dataset, pin_memory=True):
            self.step(batch, seen)


# --- losses in dicts, norms of gradients, collectives --------------------------------------------


def losses_in_a_dict(model, criterion, optimizer, dataset, seen):
    for images, targets in DataLoader(dataset, pin_memory=True):
        losses = criterion(model(images.cuda(non_blocking=True)), targets.cuda(non_blocking=True))
        for loss in losses.values():
            seen.append(loss.mean().item())  # expect
        losses["total"].backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen.append(norm.item())


def norm_of_a_wrapped_model(model, optimizer, dataset, norms=0.0):
    for images in DataLoader(dataset, pin_memory=True):
        model(images.cuda(non_blocking=True)).mean().backward()
        norms += model.clip_grad_norm_(1.0).item()  # expect advice
        optimizer.step()


def norms_one_by_one(parameters):
    total = 0.0
    for parameter in parameters:
        if parameter.grad is None:
            continue
        total += parameter.grad.detach().norm(2).item() ** 2  # expect
    return total**0.5


def with_norms(model, optimizer, dataset, writer):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        model(images.cuda(non_blocking=True)).mean().backward()
        writer.add_scalar("norm", norms_one_by_one(model.parameters()), step)
        optimizer.step()


def over_ranks(value):
    total = value.clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()  # expect


def two_means(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        near, far = model(images.cuda(non_blocking=True))
        (near + far).backward()
        optimizer.step()
        print(over_ranks(near.detach()), over_ranks(far.detach()))


class Dice(torch.nn.Module):
    def forward(self, found, wanted):
        score = (found * wanted).sum()
        return 1 - score.mean(), score.detach().cpu().numpy()  # expect


class Dicing:
    def __init__(self, model, optimizer, loader):
        self.model, self.criterion, self.optimizer, self.loader = model, Dice(), optimizer, loader

    def epoch(self, log):
        for images, targets in self.loader:
            loss, scores = self.criterion(self.model(images.cuda()), targets.cuda())
            loss.backward()
            self.optimizer.step()
            log.append((loss.item(), scores))


def dices(model, optimizer, dataset):
    Dicing(model, optimizer, DataLoader(dataset)).epoch([])


def on_the_host_loss(found, wanted):
    return ((found.cpu() - wanted.cpu()) ** 2).mean()  # expect advice


def with_a_loss_on_the_host(model, optimizer, dataset, total=0.0):
    for images, wanted in DataLoader(dataset, pin_memory=True):
        images, wanted = images.cuda(non_blocking=True), wanted.cuda(non_blocking=True)
        loss = on_the_host_loss(model(images), wanted)
        loss.backward()
        optimizer.step()
        total += loss.cpu().detach()


TENSOR = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor


def with_old_types(generator, critic, optimizer, dataset):
    for images in DataLoader(dataset):
        images = images.type(TENSOR)
        noise = TENSOR(64, 100)
        loss = critic(images).mean() - critic(generator(noise)).mean()
        loss.backward()
        optimizer.step()
        print("loss", loss.item())  # expect advice


# --- shown as a text, logged -----------------------------------------------------------------


def in_a_text(model, optimizer, dataset, bar):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        bar.set_description(f"loss {loss:.3f}")  # expect advice


def by_a_logger(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        wandb.log({"loss": loss})  # expect advice


# --- under tests that hold in nearly every step -------------------------------------------------


def in_the_default_mode(model, optimizer, dataset, mode="plain", total=0.0):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        if mode in ["plain"]:
            loss = model(images).mean()
            total += loss.item()  # expect advice
            loss.backward()
            optimizer.step()
        if mode in ["double"]:
            loss = model(images).mean() * 2
            loss.backward()
            optimizer.step()
            total += loss.item()


class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, loss):
        if isinstance(loss, torch.Tensor):
            loss = loss.item()  # expect advice
        self.total += loss


def with_a_meter(model, optimizer, dataset):
    meter = Meter()
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)


def where_weights_change(model, optimizer, dataset, bar):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(dataset))
    for images in loader:
        with accelerator.accumulate(model):
            loss = model(images).mean()
            accelerator.backward(loss)
            optimizer.step()
        if accelerator.sync_gradients:
            bar.set_postfix(loss=loss.item())  # expect advice


def synchronises_at_times(model, optimizer, dataset, total=0.0):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()  # expect advice
        if step % 100 == 0:
            torch.cuda.synchronize()


class Net(torch.nn.Module):
    def forward(self, images, wanted, stats):
        loss = (images - wanted).square().mean()
        stats["loss"] = loss.item()  # expect advice
        return loss


class Other(torch.nn.Module):
    def forward(self, images, wanted, stats):
        loss = (images - wanted).abs().mean()
        stats["loss"] = loss.item()
        return loss


def either_of_two(kind, optimizer, dataset):
    model = Net() if kind == "net" else Other()
    for batch in DataLoader(dataset, pin_memory=True):
        batch = {name: one.cuda(non_blocking=True) for name, one in batch.items()}
        loss = model(**batch, stats={})
        loss.backward()
        optimizer.step()


# --- steps of trainers, and over batches of an unknown source -----------------------------------------


class Pair(lightning.LightningModule):
    def training_step(self, batch, batch_idx):
        images, targets = batch
        one, two = self.optimizers()
        loss = self.critic(images, targets)
        self.manual_backward(loss)
        one.step()
        self.seen.append(loss.item())  # expect
        cost = self.maker(targets)
        self.manual_backward(cost)
        two.step()
        self.seen.append(cost.item())

    def validation_step(self, batch, batch_idx):
        self.seen.append(self.critic(*batch).item())


class Weighted(OfTransformers):
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        loss = model(**inputs).loss
        self.log({"loss": loss.item()})  # expect advice
        return loss


def over_batches(model, batches, optimizer, steps, seen):
    for _ in range(steps):
        loss = model(next(batches).to("cuda")).mean()
        loss.backward()
        seen.append(loss.item())  # expect
        optimizer.step()
        after = model(next(batches).to("cuda")).mean()
        after.backward()
        seen.append(after.item())


def in_parts(model, batches, optimizer, seen):
    for batch in batches:
        for part in batch:
            loss = model(part.to("cuda")).mean()
            seen.append(loss.item())  # expect
            loss.backward()
            seen.append(loss.item())
        optimizer.step()


def averaged_every_hundred(model, dataset, optimizer, writer, total=0.0):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True), 1):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()  # expect advice
        if step % 100 == 0:
            average = torch.tensor(total / 100, device="cuda")
            dist.all_reduce(average)
            writer.add_scalar("loss", average, step)


def where_there_is_a_schedule(model, dataset, optimizer, schedule, seen):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if schedule is not None:
            seen.append(loss.item())  # expect advice


def of_weights_by_name(model, dataset, optimizer, writer):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        for name, weight in model.named_parameters():
            if "bias" in name:
                writer.add_histogram(name, weight.grad)
        print(loss.item())  # expect advice


# --- traps ---------------------------------------------------------------------------------


def sizes(model, optimizer, dataset):
    for images, lengths in DataLoader(dataset, pin_memory=True):
        images, lengths = images.cuda(non_blocking=True), lengths.cuda(non_blocking=True)
        longest = lengths.max().item()
        rows = torch.zeros(lengths.sum().item())
        model(images[:, :longest], rows).mean().backward()
        optimizer.step()


def texts_of_shapes(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        model(images).mean().backward()
        optimizer.step()
        print(f"{images.shape} {len(images)} {images.device}")


def metrics_of_another_library(model, optimizer, dataset, metric):
    for images, targets in DataLoader(dataset, pin_memory=True):
        found = model(images.cuda(non_blocking=True))
        found.mean().backward()
        optimizer.step()
        print(f"{metric(found, targets):.3f}")  # which may be a number


def logged_where_asked_for(model, optimizer, dataset, verbose=False):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if verbose:
            print(loss.item())


def over_arrays(net, batches, losses):
    for images in batches:
        cost = net(images)
        mxnet.autograd.backward(cost)
        losses.append(cost.asnumpy().item())


def shapes_of_gradients(model, dataset, optimizer, seen):
    for images in DataLoader(dataset, pin_memory=True):
        model(images.cuda(non_blocking=True)).mean().backward()
        for parameter in model.parameters():
            seen.append(float(parameter.grad is None))
            seen.append(float(parameter.grad.shape[0]))
        optimizer.step()


def read_in_the_last_steps(model, dataset, optimizer, total_steps, seen):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if step >= total_steps - 1:
            seen.append(loss.item())
        cost = model(loss)
        cost.backward()
        if step >= 100:
            seen.append(cost.item())
        if step < 1:
            seen.append(cost.item())


def every_hundred(generator, critic, dataset):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        if step % 100 == 0:
            print(loss.item())
        cost = generator(images).mean()
        cost.backward()
        if step % 100 == 0:
            print(cost.item())


def kept_on_device(generator, critic, dataset):
    total = 0.0
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        total += loss.detach()
        print(images.shape, len(images), images.size(0))
    return total.item()


def evaluates(generator, critic, dataset):
    total = 0.0
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        total += critic(images).mean().item()
        total += generator(images).mean().item()
    return total


def on_the_host(generator, critic, dataset):
    total = 0.0
    for images in DataLoader(dataset):
        loss = critic(images).mean()
        loss.backward()
        total += loss.item()
        cost = generator(images).mean()
        cost.backward()
        total += cost.item()
    return total


def measured(generator, critic, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        print(loss.item())
        cost = generator(images).mean()
        cost.backward()
        torch.cuda.synchronize()
        print(cost.item())


def read_before_it_is_moved(model, dataset, optimizer, seen):
    for images, lengths in DataLoader(dataset, pin_memory=True):
        longest = lengths.long().cpu().max()
        seen.append(images.numpy())
        images, lengths = images.cuda(non_blocking=True), lengths.cuda(non_blocking=True)
        model(images, lengths, longest).backward()
        optimizer.step()
        lengths = None


def decides(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        value = loss.item()
        if not math.isfinite(value):
            raise RuntimeError(value)
        print(loss.item())
        loss.backward()
        optimizer.step()


def decides_late(model, optimizer, scheduler, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
        if torch.isnan(loss):
            break
        scheduler.step()
        print(loss.item())


def decides_of_what_was_read(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        value = loss.item()
        print(loss.mean().item())
        loss.backward()
        optimizer.step()
        if value < 0.1:
            break


def of_a_batch_of_one(model, optimizer, dataset, size):
    for images in DataLoader(dataset, pin_memory=True):
        images = images.cuda(non_blocking=True)
        loss = model(images).mean()
        loss.backward()
        optimizer.step()
        if images.shape[0] == 1:
            print(loss.item())
        if images.shape[0] == size:
            model.train()
        else:
            print(loss.item())
        if len(images) == 64:
            model.train()
        else:
            print(loss.item())


def waits_behind_a_check_and_synchronises(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        if torch.isnan(loss):
            continue
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        print(loss.item())


class Plain:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def optimize(self, images):
        loss = self.model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        self.optimizer.step()
        self.told = loss.item()  # expect advice


class Video(Plain):
    def optimize(self, images):
        super().optimize(images.flatten(0, 1))


def of_one_kind_or_the_other(kind, model, optimizer, dataset):
    trainer = Video(model, optimizer) if kind == "video" else Plain(model, optimizer)
    for images in DataLoader(dataset, pin_memory=True):
        trainer.optimize(images)


# --- traps in what the step calls ----------------------------------------------------------


def longest_of(mask):
    return mask.sum(1).max().item()


class Encoder(torch.nn.Module):
    """Needs a number to go on."""

    def forward(self, batch, lengths):
        longest = lengths.max().item()
        count = lengths.sum().item()
        rows = torch.zeros(count)
        return batch[:, :longest], rows, torch.nn.utils.rnn.pack_padded_sequence(batch, lengths.cpu())


def needs_a_number(dataset, optimizer):
    encoder = Encoder()
    for batch, lengths in DataLoader(dataset, pin_memory=True):
        batch, lengths = batch.cuda(non_blocking=True), lengths.cuda(non_blocking=True)
        batch = batch[:, : longest_of(batch)]
        encoder(batch, lengths)[0].sum().backward()
        optimizer.step()


def told_by_one_rank_at_times(model, dataset, optimizer, rank):
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 10 == 0:
            print(loss.item())


class Careful:
    def step(self, model, batch, step):
        loss = model(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        if step % 100 == 0:
            print(loss.item())
        return loss

    def checked(self, model, batch):
        loss = model(batch.cuda(non_blocking=True)).mean()
        value = loss.item()
        if not math.isfinite(value):
            raise RuntimeError(value)
        loss.backward()
        return value


def in_careful_steps(model, dataset):
    careful = Careful()
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        careful.step(model, images, step)
        careful.checked(model, images)


class Stopping:
    def step(self, model, batch):
        loss = model(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        return loss.item()


def until_it_is_good(model, dataset):
    stopping = Stopping()
    for images in DataLoader(dataset, pin_memory=True):
        loss = stopping.step(model, images)
        if loss < 0.1:
            break


def draws_and_looks(model, batches):
    loss = model(next(batches).cuda(non_blocking=True)).mean()
    return loss.item()


def trains_a_whole_epoch(model, optimizer, dataset, loss=None):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def draws_one_at_first(model, optimizer, batches):
    first = model(next(batches).cuda(non_blocking=True)).mean()
    first.backward()
    print(first.item())


def draws_at_times(model, optimizer, batches, images):
    if images is None:
        images = next(batches)
    loss = model(images.cuda(non_blocking=True)).mean()
    loss.backward()
    return loss.item()


def by_epochs(model, optimizer, dataset, images, seen):
    batches = iter(DataLoader(dataset, pin_memory=True))
    draws_one_at_first(model, optimizer, batches)
    for epoch in range(100):
        seen.append(trains_a_whole_epoch(model, optimizer, dataset))
        seen.append(draws_and_looks(model, batches))
        seen.append(draws_at_times(model, optimizer, batches, images))
        if epoch % 10 == 0:
            draws_one_at_first(model, optimizer, batches)


def normals(model, points, found):
    for part in points.split(1000):
        part = part.to("cuda")
        model(part).sum().backward()
        found.append(part.grad.cpu())


def normals_in_parts(model, clouds, clock, found):
    for points in clouds:
        for part in points:
            part = part.to("cuda")
            height = model(part).sum()
            found.append(height.item())
            height.backward()
            found.append(part.grad.cpu())
        clock.step()


def averaged_in_each_step(model, dataset, optimizer, writer, smooth):
    total = 0.0
    for step, images in enumerate(DataLoader(dataset, pin_memory=True)):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if smooth:
            average = torch.tensor(total / (step + 1), device="cuda")
            dist.all_reduce(average)


def of_what_is_labelled(model, dataset, optimizer, total=0.0):
    for images, labels in DataLoader(dataset, pin_memory=True):
        labels = labels.cuda(non_blocking=True)
        known = labels.ne(-1)
        scores = model(images.cuda(non_blocking=True))
        loss = (scores[known] - labels[known]).square().mean()
        total += loss.item()
        loss.backward()
        optimizer.step()


# --- steps over batches of an unknown source, in a function of their own -------------------------------


class Configured:
    def __init__(self, options):
        self.model, self.optimizer = options.build()
        self.losses = {}

    def train(self, batches, options):
        for batch in batches:
            self.step(batch.to("cuda", non_blocking=True), options)

    def step(self, batch, options):
        self.optimizer.zero_grad()
        loss = self.model(batch).mean()
        loss.backward()
        self.losses[f"{batch.kind} of {batch.source}"] = loss.item()  # expect advice
        self.optimizer.step()


class ConfiguredAtTimes(Configured):
    def train(self, batches, options):
        for number, batch in enumerate(batches):
            self.step_at_times(batch.to("cuda", non_blocking=True), number)

    def step_at_times(self, batch, number):
        self.optimizer.zero_grad()
        loss = self.model(batch).mean()
        loss.backward()
        if number % 100 == 0:
            print(loss.item())
        self.optimizer.step()


class Gradient(Configured):
    """Asks for a gradient, and learns nothing."""

    def train(self, batches, options):
        for batch in batches:
            self.gradient(batch.to("cuda", non_blocking=True))

    def gradient(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        print(loss.item())


class Once(Configured):
    """Takes one step."""

    def train(self, batches, options):
        self.one_step(next(batches).to("cuda", non_blocking=True))

    def one_step(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        print(loss.item())
        self.optimizer.step()


class AllAtOnce(Configured):
    """An epoch is one step, and what comes after it looks at the result."""

    def train(self, graph, options):
        for epoch in range(options.epochs):
            self.whole_graph(graph.to("cuda"))

    def whole_graph(self, graph):
        loss = self.model(graph).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class ManyStepsOfAnEpoch(Configured):
    def train(self, batches, options):
        for epoch in range(options.epochs):
            for _ in range(options.steps_per_epoch):
                self.one_of_many(next(batches).to("cuda"))

    def one_of_many(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        self.optimizer.step()
        self.losses[batch.kind] = loss.item()  # expect advice
