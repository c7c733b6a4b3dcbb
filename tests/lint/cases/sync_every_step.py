import math

import torch
from torch.utils.data import DataLoader


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


# --- traps ---------------------------------------------------------------------------------


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


def decides(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        value = loss.item()
        if not math.isfinite(value):
            raise RuntimeError(value)
        loss.backward()
        optimizer.step()
        print(loss.item())


def decides_at_once(model, optimizer, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        loss = model(images.cuda(non_blocking=True)).mean()
        if torch.isnan(loss):
            continue
        loss.backward()
        optimizer.step()
        print(loss.item())


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
