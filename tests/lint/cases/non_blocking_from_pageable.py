import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm

from shapes import MetricLogger, build_loader, encode

device = torch.device("cuda")


# --- the loader says nothing of pinning, or says no -----------------------------------------


def absent(model, dataset):
    loader = DataLoader(dataset, batch_size=32, num_workers=4)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)  # expect
        model(images, labels.cuda())


def refused(model, dataset, rank):
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=False)
    for step, (images, labels) in enumerate(tqdm(loader)):
        images, labels = images.cuda(rank, non_blocking=True), labels.cuda(rank)  # expect
        model(images, labels, step)


def behind_a_logger(model, dataset):
    loader = DataLoader(dataset, num_workers=4, sampler=DistributedSampler(dataset, shuffle=False))
    metrics = MetricLogger(delimiter="  ")
    for images, index in metrics.log_every(loader, 10):
        images = images.cuda(non_blocking=True)
        model(images, index)


class Repeated(DataLoader):
    def __init__(self, dataset, **options):
        super().__init__(dataset, **options)


def of_a_subclass(model, dataset):
    for images, _ in Repeated(dataset, num_workers=4):
        model(images.to(device, non_blocking=True))  # expect


class Meter:
    def log_every(self, iterable, every):
        for i, element in enumerate(iterable):
            yield element
            if i % every == 0:
                print(i)


def behind_a_generator(model, dataset):
    loader = DataLoader(dataset, num_workers=4, sampler=DistributedSampler(dataset, shuffle=False))
    for images, index in Meter().log_every(loader, 10):
        images, index = images.cuda(non_blocking=True), index.cuda()  # expect
        model(images, index)


def value_by_value(model, dataset):
    loader = DataLoader(dataset, num_workers=4, drop_last=True)
    for step, batch in enumerate(loader):
        for key, value in batch.items():
            batch[key] = value.to(torch.cuda.current_device(), non_blocking=True)  # expect
        model(batch, step)


def with_a_cast(model, dataset):
    accelerator = Accelerator()
    loader = DataLoader(dataset, num_workers=4)
    latents = []
    for batch in tqdm(loader, desc="caching"):
        pixels = batch["pixels"].to(  # expect
            accelerator.device, non_blocking=True, dtype=torch.float16
        )
        latents.append(model.encode(pixels))
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        model(batch["pixels"].to(accelerator.device, non_blocking=True))
    return latents


def never_prepared(model, dataset):
    accelerator = Accelerator()
    loader = DataLoader(dataset, num_workers=4, shuffle=True)
    model = accelerator.prepare(model)
    for batch in loader:
        pixels = batch["pixels"]
        model(pixels.to(accelerator.device, non_blocking=True))  # expect


def no_workers_either(model, dataset):
    loader = DataLoader(dataset, batch_size=8)
    for images, _ in loader:
        model(images.to(device, non_blocking=True))  # expect


def to_gpu(part):
    part = part.contiguous()
    if torch.cuda.is_available():
        part = part.cuda(non_blocking=True)  # expect
    return part


def through_a_helper(model, train_set, val_set):
    train = DataLoader(train_set, num_workers=1, pin_memory=False)
    for text, mel in train:
        model(to_gpu(text).long(), to_gpu(mel).float())
    val = DataLoader(val_set, num_workers=1, pin_memory=False)
    for text, mel in val:
        model(to_gpu(text).long(), to_gpu(mel).float())


# --- a pinned batch, computed with on the host ----------------------------------------------


def joined_on_the_host(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for left, right in loader:
        both = torch.cat([left, right], dim=0)
        model(both.to(device, non_blocking=True))  # expect


def stacked_on_the_host(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        views = torch.stack([images, images])
        model(views.to(device, non_blocking=True), labels.cuda(non_blocking=True))  # expect


def cast_to_another_type_on_the_host(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels, masks in loader:
        halved = images.float().half().cuda(non_blocking=True)  # expect
        wide = images.to(torch.float32).view(-1, 3).double().cuda(non_blocking=True)  # expect
        labels = torch.cat([labels, labels]).long().to(device, non_blocking=True)  # expect
        model(halved, wide, labels, masks.clone().cuda(non_blocking=True))  # expect


def cast_from_a_loader_that_does_not_pin(model, dataset):
    for images, masks in DataLoader(dataset, num_workers=4):
        images = images.float()
        images = images.cuda(non_blocking=True)  # expect
        masks = masks.permute(0, 2, 1).contiguous().to(torch.uint8).cuda(non_blocking=True)  # expect
        model(images, masks)


class Predictor:
    def __init__(self, model):
        self.model = model

    def __call__(self, loader):
        for images in loader:
            self.model(images.to(device, non_blocking=True))  # expect


def predicted(model, dataset):
    predictor = Predictor(model)
    predictor(DataLoader(dataset, num_workers=4))


class EitherWay(Predictor):
    def __call__(self, loader):
        for images in loader:
            self.model(images.to(device, non_blocking=True))


def predicted_either_way(model, dataset, show):
    show([EitherWay(model)], DataLoader(dataset, num_workers=4))
    predictor = EitherWay(model)
    predictor(DataLoader(dataset, num_workers=4))


# --- traps ----------------------------------------------------------------------------------


def cast_to_what_it_may_be_already(model, dataset, dtype, like):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels, masks, depths in loader:
        images = images.float().cuda(non_blocking=True)  # expect
        labels = labels.long().to(device, non_blocking=True)  # expect
        half = depths.half().view(-1).cuda(non_blocking=True)  # expect
        depths = depths.to(dtype).cuda(non_blocking=True)
        typed = masks.type(torch.LongTensor).cuda(non_blocking=True)  # expect
        masks = masks.type_as(like).to(torch.float32).cuda(non_blocking=True)
        model(images, labels, half, depths, typed, masks)


def cast_twice_to_the_same(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels, masks in loader:
        images = images.float().to(torch.float32).cuda(non_blocking=True)
        labels = labels.type(torch.LongTensor).long().cuda(non_blocking=True)  # expect
        masks = masks.to(dtype=torch.half).half().cuda(non_blocking=True)  # expect
        model(images, labels, masks)


def cast_where_the_user_chooses_to_pin(model, dataset, pin):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=pin):
        model(images.float().cuda(non_blocking=True), labels.int().cuda(non_blocking=True))


def laid_out_where_it_may_lie_so(model, dataset, count):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.contiguous().cuda(non_blocking=True)
        first, second = labels.chunk(2, dim=1)
        model(images, first.cuda(non_blocking=True), second.expand(count, -1).cuda(non_blocking=True))


def cast_on_the_device(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        images = images.cuda().float()
        model(images.half().to(device, non_blocking=True), labels)


def pinned(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.cuda(non_blocking=True)
        model(images, labels)


def pinned_when_it_matters(model, dataset, use_cuda):
    loader = DataLoader(dataset, num_workers=4, pin_memory=torch.cuda.is_available())
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)
    loader = DataLoader(dataset, num_workers=4, pin_memory=device.type == "cuda")
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def pinned_in_keywords(model, dataset):
    kwargs = dict(num_workers=4, pin_memory=True, persistent_workers=True)
    loader = DataLoader(dataset, batch_size=8, **kwargs)
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def keywords_of_the_caller(model, dataset, **kwargs):
    loader = DataLoader(dataset, **kwargs)
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def an_option(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pin-memory", action="store_true")
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=4, pin_memory=args.pin_memory)
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def of_a_parameter(model, dataset, pin_memory=False):
    loader = DataLoader(dataset, num_workers=4, pin_memory=pin_memory)
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def blocking(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        images = images.to(device)
        labels = labels.cuda(non_blocking=False)
        model(images, labels)


def chosen_at_run_time(model, dataset, overlap):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        model(images.to(device, non_blocking=overlap), labels)


def back_to_the_host(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        images = images.to(device)
        scores = model(images).to("cpu", non_blocking=True)
        torch.cuda.synchronize()
        print(scores.mean(), labels.to("cpu", non_blocking=True))


def already_there(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        images = images.to(device)
        images = images.float()
        model(images.to(device, non_blocking=True), labels)


def pinned_by_hand(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        staged = images.pin_memory()
        model(staged.to(device, non_blocking=True), labels)


def not_the_batch(model, dataset, size):
    loader = DataLoader(dataset, num_workers=4)
    features = None
    for images, index in loader:
        scores = model(images.to(device))
        if features is None:
            features = torch.zeros(len(loader.dataset), size)
            features = features.cuda(non_blocking=True)
        features[index] = scores
    return features


def elsewhere_made(model, options):
    loader = build_loader(options)
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels)


def any_loader(model, batches):
    for images, labels in batches:
        model(images.to(device, non_blocking=True), labels)


def move(part):
    return part.to(device, non_blocking=True)


def one_pinned_one_not(model, train_set, val_set):
    for part in DataLoader(train_set, num_workers=4, pin_memory=True):
        model(move(part))
    for part in DataLoader(val_set, num_workers=1, pin_memory=False):
        model(move(part))


def prepared(model, dataset):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(dataset, num_workers=4))
    for batch in loader:
        model(batch["image"].to(accelerator.device, non_blocking=True))


def a_whole_model(model, teacher, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, _ in loader:
        teacher.to("cuda", non_blocking=True)
        model(images.to(device), encode(images).to(device, non_blocking=True))


class Graph:
    def __init__(self, model, example):
        self.model = model
        self.static = torch.zeros_like(example, device="cuda")

    def run(self, dataset):
        loader = DataLoader(dataset, num_workers=4, pin_memory=True)
        for images, _ in loader:
            self.static.copy_(images, non_blocking=True)
            self.model(self.static)


def one_part_is_never_read(model, dataset):
    for images, texts, index in DataLoader(dataset, num_workers=4):
        images = images.cuda(non_blocking=True)  # expect
        texts = texts.cuda(non_blocking=True)  # expect
        model(images, texts)


def tuples(model, dataset, device):
    for batch in DataLoader(dataset, num_workers=4):
        if isinstance(batch, (list, tuple)):
            model(batch[0].to(device, non_blocking=True))  # expect
        elif isinstance(batch, dict):
            model(batch["image"].to(device, non_blocking=True))  # expect


def without_workers_by_default(model, dataset, device, workers=0):
    for images, _ in DataLoader(dataset, batch_size=8, num_workers=workers):
        model(images.to(device, non_blocking=True))  # expect


def joined_of_what_is_not_pinned(model, first, second, device):
    one, other = DataLoader(first, num_workers=4), DataLoader(second, num_workers=4)
    for (images, _), (others, _) in zip(one, other):
        model(torch.cat([images, others]).to(device, non_blocking=True))  # expect


def joined_of_what_is_pinned(model, first, second, device):
    one = DataLoader(first, num_workers=4, pin_memory=True)
    other = DataLoader(second, num_workers=4, pin_memory=True)
    for (images, _), (others, _) in zip(one, other):
        model(torch.cat([images, others]).to(device, non_blocking=True))  # expect


def predict(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        model(images.cuda(non_blocking=True))  # expect


def joined_by_a_function_that_is_given_both(model, dataset, device):
    for images, others in DataLoader(dataset, num_workers=4, pin_memory=True):
        learn_from_both(model, images, others, device).backward()


def learn_from_both(model, images, others, device):
    both = torch.cat([images, others])
    return model(both.to(device, non_blocking=True))  # expect


def joined_where_they_are(model, dataset, device):
    for images, others in DataLoader(dataset, num_workers=4, pin_memory=True):
        both = stacked([images.to(device), others.to(device)])
        model(both.to(device, non_blocking=True)).backward()


def stacked(samples):
    return torch.stack(samples)


def joined_of_what_nobody_knows(model, images, others, device):
    for _ in range(100):
        model(torch.cat([images, others]).to(device, non_blocking=True)).backward()


def one_column_of_several(dataset, model):
    for batch in DataLoader(dataset, num_workers=4):
        masks = batch.get("masks", {})
        model(masks.to("cuda", non_blocking=True))  # expect
