"""Every check over real loaders of other libraries, each judged as a user would see it; the table of docs/libraries.md.

    python benchmarks/library_loaders.py [--only NAME...] [--seconds 1] [--json verdicts.json]

Each loader is a target of its own run of pytest, over small generated data with 2 workers. A library that is missing,
or does not load beside this torch, is told and left out. Known faults are in ``EXPECTED``; any other failure is printed
in full and makes the exit status 1, as does what is a fault of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from tests.libraries import test_shapes as shapes
from tests.libraries.rows import SIZE, Noisy, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[1]
OPTIONS: dict[str, Any] = {"batch_size": 8, "num_workers": 2}


class Pictures(Noisy):
    """Images of noise and a label, with a transform."""

    def __init__(self, transform: Callable[[Any], Any] | None = None) -> None:
        self.transform = transform

    def __getitem__(self, index: int) -> Any:
        image = torch.rand(3, 32, 32) + index
        return self.transform(image) if self.transform else image, index % 10


def _folder() -> Path:
    """One for each target: the loaders of a run read what the first wrote."""
    return Path(os.environ["LIBRARY_LOADERS"])


# --- kept iterators, prefetchers, wrappers ---------------------------------------------


def timm_prefetch() -> Any:
    shapes.library("timm")
    dataset = shapes.library("torchvision.datasets").FakeData(SIZE, (3, 64, 64), 10)
    create = shapes.library("timm.data").create_loader
    return create(
        dataset, (3, 32, 32), 8, is_training=True, num_workers=2, device=torch.device("cpu"), pin_memory=False
    )


def monai_cached() -> Any:
    data, transforms = shapes.library("monai.data"), shapes.library("monai.transforms")
    rows = [{"x": np.full((1, 8, 8), number, np.float32)} for number in range(SIZE)]
    chain = transforms.Compose([transforms.ToTensord("x"), transforms.RandGaussianNoised("x", prob=1.0)])
    return data.DataLoader(data.CacheDataset(rows, chain, num_workers=0, progress=False), shuffle=True, **OPTIONS)


def monai_smart_cache() -> Any:
    data, transforms = shapes.library("monai.data"), shapes.library("monai.transforms")
    rows = [{"x": np.full((1, 8, 8), number, np.float32)} for number in range(SIZE)]
    chain = transforms.Compose([transforms.ToTensord("x"), transforms.RandGaussianNoised("x", prob=1.0)])
    cached = data.SmartCacheDataset(rows, chain, cache_num=SIZE // 2, replace_rate=0.2, progress=False)
    return data.DataLoader(cached, **OPTIONS)


def accelerate_prepared() -> Any:
    loader = DataLoader(Noisy(), shuffle=True, **OPTIONS)
    return shapes.library("accelerate").Accelerator(cpu=True).prepare(loader)


def lightning_module() -> Any:
    module = type(
        "Data",
        (shapes.library("lightning.pytorch").LightningDataModule,),
        {"train_dataloader": lambda _: DataLoader(Noisy(), shuffle=True, **OPTIONS)},
    )
    return module().train_dataloader()


def stateful() -> Any:
    return shapes.library("torchdata.stateful_dataloader").StatefulDataLoader(Noisy(), shuffle=True, **OPTIONS)


def torchdata_nodes() -> Any:
    nodes = shapes.library("torchdata.nodes")
    batches = nodes.Batcher(nodes.IterableWrapper(range(SIZE)), 8)
    return nodes.Loader(nodes.ParallelMapper(batches, torch.tensor, num_workers=2, method="thread"))


# --- streams ---------------------------------------------------------------------------


def _archives() -> str:
    webdataset, folder = shapes.library("webdataset"), _folder()
    for shard in range(4):
        path = folder / f"{shard}.tar"
        if not path.exists():
            with webdataset.TarWriter(str(path)) as archive:
                for number in range(64 * shard, 64 * shard + 64):
                    archive.write({"__key__": f"{number:04d}", "npy": np.full(4, number, np.float32), "cls": number})
    return f"{folder}/{{0..3}}.tar"


def web_shuffled() -> Any:
    data = shapes.library("webdataset").WebDataset(_archives(), shardshuffle=100).shuffle(50).decode()
    return DataLoader(data.to_tuple("npy", "cls"), **OPTIONS)


def web_loader() -> Any:
    webdataset = shapes.library("webdataset")
    data = webdataset.WebDataset(_archives(), shardshuffle=False).decode().to_tuple("npy", "cls").batched(8)
    return webdataset.WebLoader(data, batch_size=None, num_workers=2)


def web_unsplit() -> Any:
    data = shapes.library("webdataset").WebDataset(_archives(), shardshuffle=False, workersplitter=None).decode()
    return DataLoader(data.to_tuple("npy", "cls"), **OPTIONS)


def litdata_stream() -> Any:
    litdata, folder = shapes.library("litdata"), _folder() / "optimised"
    if not folder.exists():
        folder.mkdir()
        from litdata.streaming.cache import Cache

        cache = Cache(str(folder), chunk_size=32)
        for number in range(SIZE):
            cache[number] = {"x": torch.full((4,), float(number))}
        cache.done()
        cache.merge()
    return litdata.StreamingDataLoader(litdata.StreamingDataset(str(folder)), **OPTIONS)


def mosaic_stream() -> Any:
    folder = _folder() / "mds"
    if folder.exists():
        streaming = shapes.library("streaming")
        return DataLoader(streaming.StreamingDataset(local=str(folder), batch_size=8), **OPTIONS)
    return shapes.mosaic(folder)


def hugging_face_table() -> Any:
    datasets = shapes.library("datasets")
    rows = {"x": np.random.rand(SIZE, 8).astype(np.float32).tolist(), "label": list(range(SIZE))}
    return DataLoader(datasets.Dataset.from_dict(rows).with_format("torch"), shuffle=True, **OPTIONS)


def hugging_face_stream() -> Any:
    datasets = shapes.library("datasets")
    table = datasets.Dataset.from_dict({"x": list(range(SIZE))})
    stream = table.to_iterable_dataset(num_shards=8).shuffle(seed=0, buffer_size=32).with_format("torch")
    return DataLoader(stream, **OPTIONS)


# --- samplers, collate functions, frameworks -------------------------------------------


def speechbrain_dynamic() -> Any:
    dataio = shapes.library("speechbrain.dataio.dataset")
    rows = {f"u{number}": {"duration": 1.0 + number % 7} for number in range(SIZE)}
    items = dataio.DynamicItemDataset(rows, output_keys=["id", "duration"])
    sampler = shapes.library("speechbrain.dataio.sampler").DynamicBatchSampler(
        items, 24.0, num_buckets=4, length_func=lambda row: row["duration"]
    )
    loader = shapes.library("speechbrain.dataio.dataloader").SaveableDataLoader
    return loader(items, batch_sampler=sampler, num_workers=2)


def sentences() -> Any:
    """Examples of sentence-transformers, made to batches by a function of our own."""
    example = shapes.library("sentence_transformers").InputExample
    rows = [example(texts=[f"sentence {number}", f"other {number}"], label=number % 3) for number in range(SIZE)]
    return DataLoader(rows, shuffle=True, collate_fn=list, **OPTIONS)


def transformers_trainer() -> Any:
    transformers = shapes.library("transformers")
    rows = [{"input_ids": [number] * (4 + number % 9), "labels": number % 2} for number in range(SIZE)]
    arguments = transformers.TrainingArguments(
        output_dir=str(_folder()), per_device_train_batch_size=8, dataloader_num_workers=2, use_cpu=True, report_to=[],
        remove_unused_columns=False,  # the model is a stand-in, whose signature names none
    )  # fmt: skip
    trainer = transformers.Trainer(torch.nn.Linear(1, 1), arguments, train_dataset=rows, data_collator=_padded)
    return trainer.get_train_dataloader()


def _padded(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
    return {"input_ids": padded, "labels": torch.tensor([row["labels"] for row in rows])}


def mmengine_default() -> Any:
    sampler = shapes.library("mmengine.dataset").DefaultSampler(Noisy(), shuffle=True)
    return DataLoader(Noisy(), sampler=sampler, **OPTIONS)


def mmengine_infinite() -> Any:
    sampler = shapes.library("mmengine.dataset").InfiniteSampler(Noisy(), shuffle=True)
    return DataLoader(Noisy(), sampler=sampler, **OPTIONS)


def kornia_augmented() -> Any:
    augmentation = shapes.library("kornia.augmentation")
    chain = augmentation.AugmentationSequential(augmentation.RandomHorizontalFlip(p=0.5), data_keys=["input"])
    return DataLoader(Pictures(chain), shuffle=True, **OPTIONS)


class Mixed:
    """Collates, and mixes each batch with itself."""

    def __init__(self) -> None:
        self.mix = shapes.library("torchvision.transforms.v2").MixUp(num_classes=10)

    def __call__(self, rows: Sequence[Any]) -> Any:
        return self.mix(*torch.utils.data.default_collate(rows))


def vision_mixup() -> Any:
    crop = shapes.library("torchvision.transforms.v2").RandomCrop(28)
    return DataLoader(Pictures(crop), shuffle=True, collate_fn=Mixed(), **OPTIONS)


def vision_fake() -> Any:
    datasets, v2 = shapes.library("torchvision.datasets"), shapes.library("torchvision.transforms.v2")
    chain = v2.Compose([v2.ToImage(), v2.RandomResizedCrop(24), v2.ToDtype(torch.float32, scale=True)])
    return DataLoader(datasets.FakeData(SIZE, (3, 32, 32), 10, chain), shuffle=True, **OPTIONS)


def own_stream() -> Any:
    return DataLoader(Stream(), **OPTIONS)


LOADERS: dict[str, Callable[[], Any]] = {
    each.__name__: each
    for each in (
        shapes.ultralytics_infinite, shapes.timm_multi_epochs, timm_prefetch, shapes.monai_thread,
        shapes.monai_thread_workers, monai_cached, monai_smart_cache, shapes.lhotse_sampler, shapes.lhotse_wrapper,
        shapes.geometric, shapes.geometric_batches, shapes.tensordicts, shapes.metric_learning, shapes.torchio_queue,
        mosaic_stream, litdata_stream, accelerate_prepared, lightning_module, stateful, torchdata_nodes, web_shuffled,
        web_loader, web_unsplit, hugging_face_table, hugging_face_stream, speechbrain_dynamic, sentences,
        transformers_trainer, mmengine_default, mmengine_infinite, kornia_augmented, vision_mixup, vision_fake,
        own_stream,
    )
}  # fmt: skip

EXPECTED: dict[str, set[str]] = {
    "lhotse_wrapper": {"order"},  # every worker reads all cuts
    "web_unsplit": {"order"},  # likewise: workersplitter=None
    "geometric": {"portability"},  # a tensor for each of 256 graphs: more than a fork server takes
    "geometric_batches": {"portability"},
    "monai_cached": {"portability"},  # likewise, of what it keeps
    "monai_smart_cache": {"randomness", "portability"},  # the dataset is seeded and not its transforms; it holds a lock
}
"""What is wrong with a loader, by the check that must find it. docs/libraries.md says why."""
OWN_FAULT = "a fault of pytest-dataloader"
"""What the reason of a check says that raised itself."""


def _available(name: str) -> str:
    """Why a loader cannot be made here; empty if it can."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        f"from benchmarks import library_loaders\nlibrary_loaders.LOADERS[{name!r}]()"
    )
    done = _run([sys.executable, "-c", code])
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def _module(name: str) -> str:
    """Where a target names it: this file, as it is run, goes by another name."""
    return LOADERS[name].__module__.replace("__main__", "benchmarks.library_loaders")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "LIBRARY_LOADERS": folder, "WANDB_MODE": "disabled"}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def examined(name: str, seconds: float) -> dict[str, tuple[str, str]]:
    """Outcome and reason of each check of one loader."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "seen.json")
        _run(
            [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly",
             "-W", "ignore", "--dataloader-bench", f"--dataloader-json={report}", f"--dataloader-seconds={seconds}",
             f"--dataloader-target={name}={_module(name)}:{name}"]
        )  # fmt: skip
        document = json.loads(report.read_text()) if report.exists() else {"loaders": []}
    (loader,) = document["loaders"] or [{"checks": {}}]
    return {check: (seen["verdict"], seen["reason"]) for check, seen in loader["checks"].items()}


def as_expected(name: str, found: dict[str, tuple[str, str]]) -> bool:
    """Whether those checks failed that must, and none by a fault of ours."""
    failed = {check for check, (outcome, _) in found.items() if outcome == "failed"}
    ours = any(OWN_FAULT in reason for _, reason in found.values())
    return bool(found) and not ours and failed == EXPECTED.get(name, set())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(LOADERS), choices=list(LOADERS), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seen: dict[str, dict[str, tuple[str, str]]] = {}
    wrong = 0
    for name in options.only:
        why = _available(name)
        if why:
            print(f"{name:22} left out: {why[:90]}", flush=True)
            continue
        found = seen[name] = examined(name, options.seconds)
        by: dict[str, list[str]] = {}
        for check, (outcome, _) in found.items():
            by.setdefault(outcome, []).append(check)
        right = as_expected(name, found)
        wrong += not right
        told = "; ".join(f"{outcome}: {', '.join(names)}" for outcome, names in by.items())
        print(f"{name:22} {'right' if right else 'WRONG'}  {told or 'no verdict'}", flush=True)
        for check, (outcome, reason) in found.items():
            if outcome != "passed":
                print(f"{'':24}{check} {outcome}: {' '.join(reason.split())[:230]}", flush=True)
    print(f"\n{len(seen)} loaders, {wrong} not as expected")
    if options.json:
        options.json.write_text(json.dumps(seen, indent=1))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
