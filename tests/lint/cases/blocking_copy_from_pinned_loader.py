import argparse
import collections
import contextlib
import copy
import time

import torch
from accelerate import Accelerator
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision import transforms
from tqdm import tqdm

from shapes import Frames, Graph, collate_graphs, scores_of

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


# --- the loader and its loop in one function ------------------------------------------------


def literal_in_the_same_function(model, dataset):
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device)  # expect
        labels = labels.to(device)  # expect
        model(images, labels)


def two_on_one_line(model, dataset, rank):
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
    for step, (images, labels) in enumerate(tqdm(loader, desc="train")):
        images, labels = images.cuda(rank), labels.cuda(rank, non_blocking=True)  # expect
        model(images, labels, step)


def progress_bar_around_enumerate(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    bar = tqdm(enumerate(loader), total=len(loader), leave=False)
    for step, batch in bar:
        if torch.cuda.is_available():
            images = batch["image"].cuda()  # expect
            model(images, step)


def comprehensions(model, dataset):
    pairs = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in pairs:
        batch = tuple(part.to(device) for part in batch)  # expect
        model(*batch)
    named = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in named:
        batch = {name: part.cuda() if part.numel() else None for name, part in batch.items()}  # expect
        model(**batch)


def key_by_key(model, dataset, local_rank):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in loader:
        for key in batch.keys():
            batch[key] = batch[key].to(local_rank)  # expect
        model(batch)


def nested_lists(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for clips, labels in loader:
        for i in range(len(clips)):
            clips[i] = clips[i].cuda(non_blocking=True)
        labels = labels.cuda()  # expect
        model(clips, labels)


def views_are_still_pinned(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.view(images.size(0), -1).to(device)  # expect
        first = labels[:16].cuda()  # expect
        model(images, first)


def parts_in_one_piece(model, dataset, order):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for step, (clips, labels, tables) in enumerate(loader):
        first = clips[0].cuda()  # expect
        last = clips[-1, 2:4].cuda()  # expect
        wide = clips[:, None].cuda()  # expect
        third = clips[:8, :, ...].cuda()  # expect
        for at in range(len(labels)):
            model(labels[at].cuda(), labels[at + 1, :, :].cuda(), tables["x"][at].cuda())  # expect
        model(first, last, wide, third, clips[step % 2].cuda())  # expect


def cast_on_the_way(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, masks in loader:
        images = images.to(device=device, dtype=torch.float16)  # expect
        masks = masks.to(device, torch.float32)  # expect
        model(images, masks)


def parts_over_several_lines(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in loader:
        tokens = batch["tokens"].to(  # expect
            device,
        )
        model(tokens)


def drawn_by_hand(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    batches = iter(loader)
    for _ in range(steps):
        try:
            images, labels = next(batches)
        except StopIteration:
            batches = iter(loader)
            images, labels = next(batches)
        model(images.to(device), labels)  # expect


# --- how pinning is said --------------------------------------------------------------------


def pinned_when_it_matters(model, dataset):
    use_gpu = torch.cuda.is_available()
    loader = DataLoader(dataset, num_workers=4, pin_memory=use_gpu)
    for images, _ in loader:
        if use_gpu:
            images = images.cuda()  # expect
        model(images)


def pinned_unless_told(model, dataset, args):
    use_gpu = torch.cuda.is_available() and not args.use_cpu
    loader = DataLoader(dataset, num_workers=4, pin_memory=use_gpu)
    for images, _ in loader:
        if use_gpu:
            images = images.cuda()  # expect
        model(images)


def pinned_in_a_dict(model, dataset):
    kwargs = {"num_workers": 1, "pin_memory": True} if torch.cuda.is_available() else {}
    loader = DataLoader(dataset, batch_size=64, **kwargs)
    for images, _ in loader:
        model(images.to(device))  # expect


def pinned_by_update(model, dataset):
    common = {"num_workers": 2, "pin_memory": True}
    train = {"batch_size": 64}
    train.update(common)
    loader = DataLoader(dataset, **train)
    for images, _ in loader:
        model(images.to(device))  # expect


# --- loader and loop apart ------------------------------------------------------------------


def make_loader(dataset):
    return DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)


def train_one_epoch(model, batches):
    for images, labels in batches:
        model(images.to(device), labels)  # expect


def launch(model, dataset):
    train_one_epoch(model, make_loader(dataset))


class Trainer:
    def __init__(self, model, dataset, rank):
        self.model = model
        self.rank = rank
        self.train_data = DataLoader(dataset, batch_size=8, pin_memory=True, num_workers=2)

    def run_epoch(self):
        for source, target in self.train_data:
            source = source.to(self.rank)  # expect
            target = target.to(self.rank, non_blocking=True)
            self.model(source, target)


def to_gpu(part):
    return part.cuda() if torch.cuda.is_available() else part  # expect


def through_a_helper(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        model(to_gpu(images), to_gpu(labels))


# --- traps ----------------------------------------------------------------------------------






def synchronised_after_the_model(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images, labels = images.cuda(), labels.cuda()  # expect
        print(model(images, labels))
        torch.cuda.synchronize()


def beside_a_copy_that_waits(model, dataset):
    for left, right, labels, weights in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = torch.cat([left, right])
        images, labels = images.to(device), labels.to(device)  # expect
        weights = weights.to(device)  # expect
        model(images, labels, weights)


def behind_a_copy_that_waits(model, dataset, kinds):
    for images, labels, weights, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.float().to(device)
        count = labels.shape[0]
        labels = labels.to(device)  # expect
        scores = model(images, labels, count)
        weights = weights.to(device)  # expect
        scores = model(scores, kinds)
        kinds = torch.tensor([count, count + 1]).to(device)
        masks = masks.to(device)  # expect
        model(scores, weights, masks, kinds)


def joined(model, batches):
    for left, right, labels in batches:
        images = torch.cat([left, right], dim=0)
        images, labels = images.to(device), labels.to(device)  # expect
        model(images, labels)


def train_joined(model, dataset):
    joined(model, DataLoader(dataset, num_workers=4, pin_memory=True))


def work_before_the_copy_that_waits(model, dataset, tokenize):
    for images, texts, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        tokens = tokenize(texts)
        labels = labels.float().to(device)
        model(images, tokens, labels)


def beside_copies_that_need_not_wait(model, dataset, more):
    for images, labels, weights in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        labels = labels.long().to(device, non_blocking=True)
        weights = weights.to(device)  # expect
        extra = more.extra.to(device)
        if more.noise is not None:
            extra = torch.randn(4).to(device)
        model(images, labels, weights, extra)


def before_a_tensor_made_on_the_device(model, dataset, domain, known):
    for images, labels, masks, lengths in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        noise = torch.zeros([4, 4], device=device)
        labels = labels.to(device)  # expect
        like = torch.as_tensor(known, device=device)
        masks = masks.to(device)  # expect
        copied = torch.tensor([domain] * 4).to(device, non_blocking=True)
        lengths = lengths.to(device)  # expect
        kept = torch.tensor([domain] * 4)
        model(images, noise, labels, like, masks, copied, lengths, kept)


def behind_a_tensor_that_may_be_as_it_was(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.permute(0, 3, 1, 2).contiguous().to(device)
        labels = labels.to(device)  # expect
        model(images, labels)


def laid_out_on_the_host(model, dataset, count):
    for images, labels, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.permute(0, 3, 1, 2).contiguous().to(device)
        model(images, labels.expand(count, -1).to(device), masks.transpose(1, 2).flatten(1).cuda())
        model(masks.select(1, 0).cuda(), masks.narrow(2, 0, 4).cuda(), labels.split(3, 1)[0].cuda())


def laid_out_as_it_was(model, dataset):
    for images, labels, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.permute(0, 3, 1, 2).to(device)  # expect
        labels = labels.contiguous().flatten().to(device)  # expect
        model(images, labels)
        model(masks.select(0, 1).cuda(), masks.narrow(0, 0, 4).cuda(), masks.chunk(2)[0].cuda())  # expect


def before_a_tensor_that_need_not_wait(model, dataset, limit, known):
    for images, labels, masks, lengths, texts in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        blank = torch.LongTensor(4, limit).fill_(0).to(device, non_blocking=True)
        labels = labels.to(device)  # expect
        kept = torch.FloatTensor([limit] * 4)
        masks = masks.to(device)  # expect
        scores = model(images, labels, masks, blank, kept)
        places = torch.LongTensor([limit] * 4).to(device)
        lengths = lengths.to(device)  # expect
        moved = torch.as_tensor(known).to(device)
        texts = texts.to(device)  # expect
        names = [model(text) for text in known]
        names = torch.FloatTensor(names).to(device)
        model(scores, places, lengths, moved, texts, names)




def before_noise_behind_a_transform_on_the_host(model, dataset, samples, size):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images, labels = images.to(device), labels.to(device)  # expect
        grey = transforms.Grayscale()(samples)
        noise = torch.zeros((size, 4)).to(device)
        model(images, labels, grey, noise)


def before_noise_behind_a_model(model, network, dataset, size):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images, labels = images.to(device), labels.to(device)  # expect
        features = network(images)
        noise = torch.zeros((size, 4)).to(device)
        model(images, labels, features, noise)


PLACES = [4, 2, 0]




def before_a_look_up_on_the_device(model, dataset, limit, at):
    for images, joints, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        images = images[:, 1:4, None]
        joints = joints.to(device)  # expect
        joints = joints[at, (1, 2), ...]
        masks = masks.to(device)  # expect
        masks = masks[:, torch.arange(3, device=device)]
        model(images, joints, masks, PLACES[0])
        PLACES[0] = joints[:, PLACES]


def read_at_once(model, dataset, score, limit):
    for images, labels, lengths, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        longest = lengths.max().item()
        if masks[0, 1] >= limit:
            continue
        images = images.to(device)  # expect
        if images.shape[0] < limit:
            continue
        labels = labels.to(device)  # expect
        if score is not None:
            score(model(images[:, :longest], labels))


def read_after_the_model(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        loss = model(images, labels).item()
        print(loss)




def asked_for_what_the_host_knows(model, dataset, flags, limit):
    for images, labels, masks, texts in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        if torch.is_tensor(images):
            labels = labels.to(device)  # expect
        if flags.any():
            masks = masks.to(device)  # expect
        if limit > 2:
            masks = model(masks)
        texts = texts.to(device)  # expect
        texts = [model(text) for text in texts]
        if torch.isnan(images).any():
            model(images, labels, masks, texts)


def read_right_after_the_model(model, dataset):
    losses = []
    for images, labels, weights in DataLoader(dataset, num_workers=4, pin_memory=True):
        loss = model(images.to(device), labels.to(device))  # expect
        losses.append(loss.item())
        losses.append(weights.item())


def already_overlapped(model, dataset, wait):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.cuda(non_blocking=not wait)
        model(images.to(device, torch.float16, True), labels.to(device, torch.int64, not wait))


def not_pinned(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        model(images.to(device), labels.cuda())
    loader = DataLoader(dataset, num_workers=4, pin_memory=False)
    for images, labels in loader:
        model(images.to(device), labels.cuda())


def pinning_is_the_callers_affair(model, dataset, pin):
    loader = DataLoader(dataset, num_workers=4, pin_memory=pin)
    for images, labels in loader:
        model(images.to(device), labels.cuda())


def pinning_is_an_option(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pin-mem", action="store_true", default=False)
    args = parser.parse_args()
    loader = DataLoader(dataset, num_workers=4, pin_memory=args.pin_mem)
    for images, labels in loader:
        model(images.to(device), labels.cuda())


def pinning_is_a_setting(model, dataset, args):
    loader = DataLoader(dataset, num_workers=4, pin_memory=torch.cuda.is_available() and args.pin)
    for images, labels in loader:
        model(images.to(device), labels.cuda())


def nothing_moves(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(torch.float32)
        labels = labels.to(dtype=torch.int64)
        images = images.to("cpu")
        labels = labels.to(torch.device("cpu"))
        model(images.to(memory_format=torch.channels_last), labels.cpu())


def computed_on_the_host(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        both = torch.cat([images, images.flip(-1)]).to(device)
        wide = images.float().cuda()
        chosen = labels[labels > 0].to(device)
        scaled = (images / 255.0).to(device)
        round_trip = torch.from_numpy(images.numpy() * 2).to(device)
        model(both, wide, chosen, scaled, round_trip)


def chosen_by_a_mask(model, dataset, order):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels, mask in loader:
        images, mask = images.cuda(non_blocking=True), mask.cuda(non_blocking=True)
        kept = valid(labels)
        model(images, labels[mask].cuda(), labels[kept].cuda(), labels[order == 2].cuda(), labels[[0, 2]].cuda())
        model(labels[mask, 0].cuda(), labels[valid(mask)].cuda())


def distill(model, batches):
    for batch in batches:
        (images, labels, mask) = batch
        images, mask = images.cuda(non_blocking=True), mask.cuda(non_blocking=True)
        labels = labels[mask].cuda()
        model(images, labels)


def distilled(model, dataset):
    distill(model, DataLoader(dataset, num_workers=4, pin_memory=True))


def parts_in_many_pieces(model, dataset, length):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in loader:
        short = batch["tokens"][:, :length].cuda()
        first = batch["tokens"][:, 0].cuda()
        last = batch["tokens"][..., -1].cuda()
        model(short, first, last, batch["tokens"][::2].cuda(), batch["clips"][0][:, 1:].cuda())


def already_there(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        halved = images.half() / 255.0
        model(halved.to(device), labels.cuda(non_blocking=True))


def not_from_the_loader(model, teacher, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        noise = torch.randn(images.shape[0], 3).to(device)
        width = torch.tensor([int(torch.randint(4, (1,)))]).to(device)
        teacher.to(device)
        scores = scores_of(model, images).to(device)
        model(noise, width, scores, labels)


def prepared_loader(model, dataset):
    accelerator = Accelerator()
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        model(batch["image"].to(accelerator.device))


class Prepared:
    def __init__(self, model, dataset):
        self.accelerator = Accelerator()
        batches = DataLoader(dataset, num_workers=4, pin_memory=True)
        self.model, self.batches = self.accelerator.prepare(model, batches)

    def fit(self):
        for images, _ in self.batches:
            self.model(images.to(self.accelerator.device))


def one_batch_to_look_at(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    images, labels = next(iter(loader))
    model(images.to(device), labels.to(device))


def host_run(model, dataset):
    host = torch.device("cpu")
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        model(images.to(host), labels.to("mps"))


def in_the_worker(samples):
    return [sample.to("cuda") for sample in samples]


def unknown_loader(model, batches):
    for images, labels in batches:
        model(images.to(device), labels.to(device))


def frames_of_a_video(model, path):
    for frame in Frames(path):
        model(frame.to(device))


def unpinned_after_all(model, dataset):
    options = dict(num_workers=4, pin_memory=True)
    options["pin_memory"] = False
    loader = DataLoader(dataset, **options)
    for images, _ in loader:
        model(images.to(device))


def graphs(model, dataset):
    loader = DataLoader(dataset, num_workers=4, collate_fn=collate_graphs)
    for graph in loader:
        model(graph.to(device))


def one_dict_to_look_at(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    batch = next(iter(loader))
    model({key: tensor.to(device) for key, tensor in batch.items()})
    for key in batch.keys():
        batch[key] = batch[key].to(device)
    for tensor in batch:
        model(tensor.cuda())


def every_tensor_of_every_batch(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in loader:
        model({key: tensor.to(device) for key, tensor in batch.items()})  # expect
        for key in batch.keys():
            batch[key] = batch[key].to(device)  # expect


def to_device(batch):
    if isinstance(batch, torch.Tensor):
        return batch.to(device)  # expect
    return batch.to(device) if isinstance(batch, (torch.Tensor, PackedSequence)) else batch  # expect


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def to(self, device):
        return Pair(self.first.to(device), self.second.to(device))


def of_any_kind(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for batch in loader:
        model(to_device(batch))


# --- one batch --------------------------------------------------------------------------------








def some_epochs_end_early(model, dataset, quick):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, _ in loader:
        model(images.to(device))  # expect
        if quick:
            break


def the_first_of_a_kind(model, dataset, rare):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        scores = model(images.to(device))  # expect
        if not rare(scores):
            continue
        break


def one_of_an_iterator_in_each_step(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    batches = iter(loader)
    for _ in range(1000):
        for images, _ in batches:
            model(images.to(device))  # expect
            break


def tried_again(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, _ in loader:
        while True:
            model(images.to(device))  # expect
            break


def on_device(images):
    return images.to(device)  # expect


def one_and_all(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, _ in loader:
        model(on_device(images))
        break
    for images, _ in loader:
        model(on_device(images))


# --- without workers ------------------------------------------------------------------------


def pinned_on_this_thread(model, train, test):
    for images, labels in DataLoader(train, num_workers=0, pin_memory=True):
        model(images.to(device), labels.to(device, non_blocking=True))  # expect
    loader = DataLoader(test, pin_memory=True)
    for images, _ in loader:
        images = images.to(device)  # expect
        model(images)


def pinned_here_or_there(model, dataset, count):
    loader = DataLoader(dataset, num_workers=count, pin_memory=True)
    for images, _ in loader:
        model(images.to(device))  # expect


def without_workers_unless_asked_for(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    loader = DataLoader(dataset, num_workers=parser.parse_args().workers, pin_memory=True)
    for images, _ in loader:
        model(images.to(device))  # expect advice


def with_workers_in_some_runs(model, dataset, parallel):
    if parallel:
        loader = DataLoader(dataset, pin_memory=True)
    else:
        loader = DataLoader(dataset, num_workers=8, pin_memory=True)
    for images, _ in loader:
        model(images.to(device))  # expect


# --- never reached --------------------------------------------------------------------------


class Tokens(IterableDataset):
    def __init__(self, texts):
        self.texts = texts

    def __iter__(self):
        for text in self.texts:
            numbers = torch.tensor([ord(letter) for letter in text])
            yield numbers


class Rows(Dataset):
    def __getitem__(self, index):
        return torch.zeros(3, index)


class Pairs(Dataset):
    def __getitem__(self, index):
        return torch.zeros(3), torch.ones(3)


class OfSomeKind(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index].cpu()


def unpacked_as_it_is(model, texts, rows, collate, size):
    for x, y in DataLoader(Pairs(), batch_size=64, num_workers=4, pin_memory=True):
        model(x.to(device), y)  # expect
    for first, second in DataLoader(Rows(), batch_size=2, num_workers=4, pin_memory=True):
        model(first.to(device), second)  # expect
    for inputs, targets in DataLoader(Tokens(texts), collate_fn=collate, num_workers=4, pin_memory=True):
        model(inputs.to(device), targets)  # expect
    for left, right in DataLoader(OfSomeKind(rows), batch_size=size, num_workers=4, pin_memory=True):
        model(left.to(device), right)  # expect
    for batch in DataLoader(Rows(), batch_size=size, num_workers=4, pin_memory=True):
        model(batch.to(device), batch[0].to(device))  # expect


# --- what becomes of the copy ----------------------------------------------------------------


def handed_over(images, device):
    return images.to(device) * 2


def handed_over_from_the_host(images, device):
    return images.to(device) * 2  # expect


def moved_by_the_caller(model, dataset, use_gpu):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(handed_over_from_the_host(labels, device))
        if use_gpu:
            images = images.cuda(non_blocking=True)
        model(handed_over(images, device))


def nothing_reads_the_copy(model, dataset):
    for images, labels, inverse in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        labels, inverse = labels.to(device), inverse.to(device)  # expect
        model(images, labels)


def a_closure_reads_the_copy(model, dataset):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        labels = labels.to(device)  # expect

        def loss(scores):
            return (scores - labels).sum()

        model(images, loss)


def matches(scores, truth):
    _, best = torch.max(scores, 1)
    best = best.cpu().numpy().astype("int64")
    truth = truth.cpu().numpy().astype("int64")
    return (best == truth).sum()


class Score:
    def __init__(self):
        self.right = 0

    def update(self, truth, scores):
        def count(self, truth, scores):
            self.right += matches(scores, truth)

        if isinstance(scores, torch.Tensor):
            count(self, truth, scores)


class Mean:
    def __init__(self):
        self.values = []

    def update(self, model, truth, images):
        scores = model(images)
        self.values.append((scores - truth).sum().item())


def worked_with_before_it_is_read(model, dataset):
    mean = Mean()
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        labels = labels.to(device)  # expect
        mean.update(model, labels, images)


def read_by_one_and_used_by_another(model, dataset, criterion):
    score = Score()
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        labels = labels.to(device)  # expect
        criterion(model(images), labels).backward()
        score.update(labels, images)




def shape_printed_next(model, dataset):
    for images, _ in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        print(images.shape)
        model(images)




def left_in_the_tenth_pass(model, dataset):
    for index, (images, _) in enumerate(DataLoader(dataset, num_workers=4, pin_memory=True)):
        model(images.to(device))  # expect
        if index == 10:
            break


def pageable_further_on_in_a_loop(model, dataset, steps):
    for images, _ in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        with torch.no_grad():
            for moment in torch.linspace(0, 1, steps):
                images = model(images)
                images = model(images, moment.expand(images.size(0)).to(device))


def shuffled(images, labels):
    share = 0.5
    order = torch.randperm(images.size(0)).cuda()
    return share * images + (1 - share) * images[order], labels[order]


# --- measured, and for a torch that is gone --------------------------------------------------


def measured_with_the_copy(model, dataset):
    for images, _ in DataLoader(dataset, num_workers=4, pin_memory=True):
        start = time.time()
        with torch.no_grad():
            images = images.to(device)  # expect
            scores = model(images)
        taken = time.time() - start
        print(taken, scores.cpu())


def measured_until_the_loss_is_there(model, dataset, meter):
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        start = time.time()
        images, labels = images.to(device), labels.to(device)  # expect
        loss = model(images, labels)
        loss.backward()
        meter.update(loss.item(), time.time() - start)


def measured_before_the_copy(model, dataset, meter):
    start = time.time()
    for images, _ in DataLoader(dataset, num_workers=4, pin_memory=True):
        meter.update(time.time() - start)
        model(images.to(device))  # expect
        start = time.time()


def counted_on_the_host_next(model, dataset):
    right, total = 0, 0
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        scores = model(images.to(device))  # expect
        _, best = torch.max(scores, 1)
        total += labels.size(0)
        right += (best == labels).sum().item()
    return right / total


def counted_on_the_device(model, dataset):
    right, total = 0, 0
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        scores = model(images)
        labels = labels.to(device)  # expect
        total += labels.size(0)
        right += (scores.argmax(1) == labels).sum()
    return right / total


def counted_by_the_shape(model, dataset):
    total = 0
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        labels = labels.to(device)  # expect
        total += torch.tensor(labels.shape[0]).item()
        model(images, labels)
    return total


def joined_in_one_branch(model, dataset, kind):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        if kind == "class":
            images, labels, index = batch
            other = torch.cat([images[1:].clone(), images[:1].clone()], dim=0)
        elif kind == "pair":
            (images, other), labels, index = batch
        images = images.to(device)  # expect
        other = other.to(device)  # expect
        model(images, other)


def the_copy_of_the_pass_before(model, dataset, kind):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        if kind == "class":
            images, index = batch
        images = images.to(device)  # expect
        index = index.to(device)  # expect
        model(images)
        index += 1


def drawn_one_by_one(model, dataset, save):
    def draw(image, index):
        maps = model.maps(image.to(device))  # expect
        save(maps.mean(0).cpu().numpy(), index)

    for images, indices in DataLoader(dataset, num_workers=4, pin_memory=True):
        for i in range(images.size(0)):
            draw(images[i : i + 1], index=indices[i].item())


def drawn_as_a_batch(model, dataset, save):
    def draw(images, indices):
        maps = model.maps(images.to(device))  # expect
        save(maps.mean(0).cpu().numpy(), indices)

    for images, indices in DataLoader(dataset, num_workers=4, pin_memory=True):
        draw(images, indices)


def trained_one_by_one(model, dataset):
    for images, targets in DataLoader(dataset, num_workers=4, pin_memory=True):
        for i in range(images.size(0)):
            model.step(images[i].to(device))  # expect




def read_back_when_it_is_computed(model, dataset, device):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        images, labels = batch["image"].to(device), batch["label"].to(device)  # expect
        outputs = model(images)
        labels = labels.cpu().numpy()[0]
        model.score(outputs, labels)


def counted_at_once(model, dataset, device):
    right = 0
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        best = torch.max(model(images.to(device)), dim=1)[1]  # expect
        right += torch.eq(best, labels.to(device)).sum().item()
    return right


def counted_by_the_model(model, dataset, device):
    right = 0
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        right += model.score(images, labels.to(device)).sum().item()  # expect
    return right


class PointBatch:
    def __init__(self, samples):
        self.points = torch.stack(samples)

    def pin_memory(self):
        self.points = self.points.pin_memory()
        return self

    def to(self, device):
        self.points = self.points.to(device)  # its own code may not wait, the loops cannot say so
        return self


class OpenBatch(PointBatch):
    def to(self, device, **options):
        self.points = self.points.to(device, **options)
        return self


def collate_points(samples):
    return PointBatch(samples)


def collate_open(samples):
    return OpenBatch(samples)


def objects_that_take_options(model, dataset, device):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True, collate_fn=collate_open):
        model(batch.to(device))  # expect


class Stopwatch(contextlib.ContextDecorator):
    def __enter__(self):
        self.start = self.now()
        return self

    def __exit__(self, *error):
        self.seconds = self.now() - self.start

    def now(self):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()


class Silencer(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        print(error)


def measured_by_stopwatches(model, dataset, device):
    copying, computing = Stopwatch(), Stopwatch()
    for images, labels in DataLoader(dataset, num_workers=4, pin_memory=True):
        with copying:
            images = images.to(device)  # expect
            images = images.float() / 255
        with computing:
            labels = labels.to(device)  # expect
            model(images, labels)


def measured_by_nobody(model, dataset, device):
    quiet = Silencer()
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        with quiet:
            images = images.to(device)  # expect
        model(images)


def predict(model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(images.to(device))  # expect


def look_again_after_each_epoch(model, optimizer, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for epoch in range(epochs):
        optimizer.zero_grad()
        model(epoch).backward()
        evaluate_what_was_learnt(model, loader)


def evaluate_what_was_learnt(model, loader):
    for images in loader:
        model(images.to(device))  # expect


def each_of_the_models(models, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for model in models:
        score(model, loader)


def score(model, loader):
    for images in loader:
        model(images.to(device))  # expect


def trained_by_somebody_else(trainer, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        trainer.train_step(images.to(device))  # expect


def test_beside_what_learns(trainer, model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        trainer.train_step(images.to(device))  # expect


def test_in_another_mode(model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model.train()
        model(images.to(device))  # expect


def extract_features_by_hand(model, dataset):
    batches = iter(DataLoader(dataset, num_workers=4, pin_memory=True))
    done = 0
    while done < len(dataset):
        images = next(batches)
        model(images.to(device))  # expect
        done += len(images)


def learn_by_hand(model, dataset):
    batches = iter(DataLoader(dataset, num_workers=4, pin_memory=True))
    for _ in range(len(dataset)):
        model(next(batches).to(device)).backward()  # expect


PICKED = [0, 1, 2, 5]




def after_a_slice(model, dataset):
    for images, joints, pose in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.cuda()  # expect
        joints = joints.cuda()  # expect
        joints = joints[:, 0:3]
        pose = pose.cuda()  # expect
        model(images, joints, pose).backward()


def validated_every_n_steps(model, dataset, held_out, every):
    held_out = DataLoader(held_out, num_workers=1, pin_memory=True)
    for step, images in enumerate(DataLoader(dataset, num_workers=4, pin_memory=True)):
        model(images.to(device)).backward()  # expect
        if step % every == 0:
            for seen in held_out:
                model(seen.to(device))  # expect


def validated_every_n_epochs(model, dataset, held_out, every):
    held_out = DataLoader(held_out, num_workers=1, pin_memory=True)
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for epoch in range(10):
        for images in loader:
            model(images.to(device)).backward()  # expect
        if epoch % every == 0:
            for seen in held_out:
                model(seen.to(device))  # expect


def test_under_attack(model, dataset, loss):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        model(attacked(model, images, loss))


def attacked(model, images, loss):
    images.requires_grad_()
    loss(model(images)).backward()
    return images + images.grad.sign()


def test_time_adaptation(model, dataset, optimizer):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(images.to(device)).backward()  # expect
        optimizer.step()


def validated_in_the_last_epoch(model, dataset, held_out, epochs):
    held_out = DataLoader(held_out, num_workers=1, pin_memory=True)
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for epoch in range(epochs):
        for images in loader:
            model(images.to(device)).backward()  # expect
        if epochs - epoch <= 1:
            for seen in held_out:
                model(seen.to(device))  # expect


def before_a_synchronise_where_there_is_a_gpu(model, dataset):
    for images, targets in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        model(images).backward()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        model.step(targets)


def before_a_synchronise_that_is_asked_for(model, dataset, args):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        if args.profile:
            torch.cuda.synchronize()
        model(images).backward()


def after_a_synchronise(model, dataset, began):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        torch.cuda.synchronize()
        began.record()
        assert images.shape[0] > 0
        model(images.to(device)).backward()  # expect


def a_copy_that_is_not_pinned(model, dataset):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        second = copy.deepcopy(batch)
        model(second["image"].to(device), copy.deepcopy(batch["mask"]).to(device)).backward()
        first, last = list(copy.deepcopy(batch))
        model(first.to(device), last.to(device)).backward()


def a_copy_that_is(model, dataset):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        model(copy.copy(batch)["image"].to(device)).backward()  # expect


def views_by_functions(model, dataset):
    for images, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = torch.unsqueeze(images, 1).to(device)  # expect
        masks = torch.flatten(masks, start_dim=1).to(device)  # expect
        model(images, masks).backward()


def parts_and_new_memory_by_functions(model, dataset):
    for images, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        column = torch.narrow(images, 1, 0, 1).to(device)
        reordered = torch.reshape(torch.transpose(images, 1, 2), (-1,)).to(device)
        halves = torch.chunk(images, 2, dim=1)[0].to(device)
        model(column, reordered, halves, torch.sum(masks).to(device)).backward()


def views_of_a_parameter(model, dataset):
    for images, masks in DataLoader(dataset, num_workers=4, pin_memory=True):
        learn_from_views(model, images, masks).backward()


def learn_from_views(model, images, masks):
    return model(torch.squeeze(images, 1).to(device), torch.select(input=masks, dim=0, index=0).to(device))  # expect


def views_of_what_is_moved_by_some_caller(model, dataset):
    for images in DataLoader(dataset, num_workers=4, pin_memory=True):
        view_of(images)
        model(view_of(images.to(device))).backward()  # expect


def view_of(images):
    return torch.squeeze(images, 1).to(device)


def loaders_of_tasks(model, datasets, tasks):
    loaders = {}
    for task in tasks:
        loaders[task] = DataLoader(datasets[task], num_workers=4, pin_memory=True)
    for task in tasks:
        for images in loaders[task]:
            model(images.to(device)).backward()  # expect
    for name, loader in loaders.items():
        for images in loader:
            model(images.to(device)).backward()  # expect
    for loader in loaders.values():
        for images in loader:
            model(images.to(device)).backward()  # expect


def loaders_of_which_some_do_not_pin(model, datasets, tasks):
    loaders = {}
    for task in tasks:
        loaders[task] = DataLoader(datasets[task], num_workers=4, pin_memory=True)
    for task in tasks:
        loaders[f"{task} again"] = DataLoader(datasets[task], num_workers=4)
    for images in loaders["first"]:
        model(images.to(device)).backward()


def loaders_beside_what_nobody_knows(model, datasets, given):
    loaders = {}
    loaders.update(given)
    for task in datasets:
        loaders[task] = given[task]
    for images in loaders["first"]:
        model(images.to(device)).backward()


class ByTask:
    KINDS = {"map": DataLoader, "stream": DataLoader}

    def __init__(self, datasets):
        self.loaders = {}
        for task in datasets:
            self.loaders[task] = self.KINDS[task.kind](datasets[task], num_workers=4, pin_memory=True)

    def learn(self, model, task):
        for images in self.loaders[task]:
            model(images.to(device)).backward()  # expect


Loaders = collections.namedtuple("Loaders", ["train", "val"])
Others = collections.namedtuple("Others", "train, val")


def loaders_of_a_named_tuple(model, one, other):
    pinning = DataLoader(one, num_workers=4, pin_memory=True)
    loaders = Loaders(pinning, val=DataLoader(other, num_workers=4))
    for images in loaders.train:
        model(images.to(device)).backward()  # expect
    for images in loaders.val:
        model(images.to(device)).backward()
    train, val = Others(train=pinning, val=DataLoader(other, num_workers=4))
    for images in train:
        model(images.to(device)).backward()  # expect
    for images in val:
        model(images.to(device)).backward()


def shares_of_processes(model, dataset, state, other):
    for batch in DataLoader(dataset, num_workers=4, pin_memory=True):
        with state.split_between_processes(batch) as share:
            model(share["image"].to(state.device)).backward()  # expect
        with other.split_in_some_way(batch) as share:
            model(share["image"].to(state.device)).backward()


def pinned_as_told(dataset, pin):
    return DataLoader(dataset, num_workers=4, pin_memory=pin)


def copies_from_one_that_pins_in_the_way_that_is_known(model, dataset, settings):
    for loader in (pinned_as_told(dataset, True), pinned_as_told(dataset, settings.pin)):
        for images in loader:
            model(images.to(device))  # expect


def all_but_the_first(model, dataset):
    for step, (_, *rest) in enumerate(DataLoader(dataset, num_workers=4, pin_memory=True)):
        left, right = [part.cuda() for part in rest]  # expect
        model(left.cuda(), right.cuda(), step)
    for _, *rest in DataLoader(dataset, num_workers=4):
        model(*[part.cuda() for part in rest])
