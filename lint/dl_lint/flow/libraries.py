"""What the project model knows of torch and the libraries around it: names, signatures, what wraps what."""

from __future__ import annotations

import re

ALWAYS_EXTERNAL = frozenset(
    {
        "torch",
        "torchvision",
        "torchaudio",
        "numpy",
        "pandas",
        "accelerate",
        "lightning",
        "pytorch_lightning",
        "transformers",
    }
)
"""Never taken for a folder of the project, whatever folders it has."""

_ALIASES = {
    "torch.utils.data.dataloader": "torch.utils.data",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.distributed": "torch.utils.data",
    "torch.utils.data.sampler": "torch.utils.data",
    "torchdata.stateful_dataloader.stateful_dataloader": "torchdata.stateful_dataloader",
    "pytorch_lightning": "lightning.pytorch",
    "lightning.pytorch.core": "lightning.pytorch",
    "torch_geometric.data.dataset": "torch_geometric.data",
    "torch_geometric.loader.dataloader": "torch_geometric.loader",
    "multiprocessing.pool": "multiprocessing",
    "multiprocess": "multiprocessing",
    "litdata.streaming": "litdata",
    "litdata.streaming.dataloader": "litdata",
    "streaming.base": "streaming",
    "streaming.base.dataloader": "streaming",
}

_RENAMED = {
    "torch.utils.data._utils.worker.get_worker_info": "torch.utils.data.get_worker_info",
    "torch_geometric.data.DataLoader": "torch_geometric.loader.DataLoader",
    "torchvision.datasets.coco.CocoDetection": "torchvision.datasets.CocoDetection",
    "torchvision.datasets.folder.DatasetFolder": "torchvision.datasets.DatasetFolder",
    "torchvision.datasets.folder.ImageFolder": "torchvision.datasets.ImageFolder",
    "trainer.torch.DistributedSampler": "torch.utils.data.DistributedSampler",
}

_DATALOADER = (
    "dataset",
    "batch_size",
    "shuffle",
    "sampler",
    "batch_sampler",
    "num_workers",
    "collate_fn",
    "pin_memory",
    "drop_last",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
)

LOADERS: dict[str, tuple[str, ...]] = {
    "torch.utils.data.DataLoader": _DATALOADER,
    "torchdata.stateful_dataloader.StatefulDataLoader": _DATALOADER,
    "monai.data.DataLoader": ("dataset", "num_workers"),
    "monai.data.ThreadDataLoader": ("dataset", "buffer_size"),
    "torch_geometric.loader.DataLoader": ("dataset", "batch_size", "shuffle", "follow_batch", "exclude_keys"),
    "torch_geometric.loader.DenseDataLoader": ("dataset", "batch_size", "shuffle"),
    "torch_geometric.loader.DataListLoader": ("dataset", "batch_size", "shuffle"),
    "torch_geometric.loader.NeighborLoader": ("dataset", "num_neighbors"),
    "torch_geometric.loader.LinkNeighborLoader": ("dataset", "num_neighbors"),
    "torch_geometric.loader.HGTLoader": ("dataset", "num_samples"),
    "torch_geometric.loader.NeighborSampler": ("edge_index", "sizes"),
    "torch_geometric.loader.ClusterLoader": ("dataset",),
    "torch_geometric.loader.GraphSAINTRandomWalkSampler": ("dataset", "batch_size"),
    "torch_geometric.loader.ShaDowKHopSampler": ("dataset", "depth", "num_neighbors"),
    "webdataset.WebLoader": _DATALOADER,
    "streaming.StreamingDataLoader": _DATALOADER,
    "litdata.StreamingDataLoader": ("dataset",),
    "dgl.dataloading.DataLoader": ("graph", "indices", "graph_sampler"),
    "dgl.dataloading.GraphDataLoader": ("dataset",),
}
"""DataLoader and its kin outside the project, with their positional arguments (``self`` left out)."""

TORCH_LOADER = "torch.utils.data.DataLoader"
TORCH_LOADERS = frozenset({TORCH_LOADER, "torchdata.stateful_dataloader.StatefulDataLoader"})
"""Those with torch's own arguments and its checks of them."""

SAMPLERS: dict[str, tuple[str, ...]] = {
    "torch.utils.data.DistributedSampler": ("dataset", "num_replicas", "rank", "shuffle", "seed", "drop_last"),
    "torch.utils.data.RandomSampler": ("data_source", "replacement", "num_samples", "generator"),
    "torch.utils.data.SequentialSampler": ("data_source",),
    "torch.utils.data.SubsetRandomSampler": ("indices", "generator"),
    "torch.utils.data.WeightedRandomSampler": ("weights", "num_samples", "replacement", "generator"),
    "torch.utils.data.BatchSampler": ("sampler", "batch_size", "drop_last"),
    "torch.utils.data.Sampler": ("data_source",),
}

DISTRIBUTED_SAMPLER = "torch.utils.data.DistributedSampler"

MAP_DATASETS = frozenset(
    {
        "torch.utils.data.Dataset",
        "torch.utils.data.TensorDataset",
        "torch.utils.data.ConcatDataset",
        "torch.utils.data.Subset",
        "torch.utils.data.StackDataset",
        "torch_geometric.data.Dataset",
        "torch_geometric.data.InMemoryDataset",
        "monai.data.Dataset",
        "fairseq.data.FairseqDataset",
        "fairseq.data.BaseWrapperDataset",
    }
)
ITERABLE_DATASETS = frozenset(
    {
        "torch.utils.data.IterableDataset",
        "torch.utils.data.ChainDataset",
        "torch.utils.data.IterDataPipe",
        "torch.utils.data.datapipes.datapipe.IterDataPipe",
        "torchdata.datapipes.iter.IterDataPipe",
        "webdataset.WebDataset",
        "webdataset.DataPipeline",
    }
)
MAP_DATASET_MODULES = ("torchvision.datasets.", "torchaudio.datasets.")
"""Every class in these modules is a map-style dataset."""

IN_MEMORY_DATASETS = frozenset(
    f"torchvision.datasets.{name}" for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST", "FakeData")
)
"""Those of ``MAP_DATASET_MODULES`` whose samples are small and in memory: workers cost more than they save."""

FILE_READERS = frozenset(
    {
        "PIL.Image.open",
        "cv2.imread",
        "builtins.open",
        "imageio.imread",
        "imageio.v2.imread",
        "skimage.io.imread",
        "numpy.load",
        "numpy.fromfile",
        "torch.load",
        "torchvision.io.read_image",
        "torchvision.io.decode_image",
        "torchvision.io.read_video",
        "torchvision.datasets.folder.default_loader",
        "torchaudio.load",
        "librosa.load",
        "librosa.core.load",
        "soundfile.read",
        "scipy.io.wavfile.read",
        "nibabel.load",
        "h5py.File",
        "pandas.read_csv",
        "json.load",
        "pickle.load",
    }
)
"""Functions that open, read or decode a file."""

PROGRESS = frozenset(
    {
        "tqdm.tqdm",
        "tqdm.auto.tqdm",
        "tqdm.autonotebook.tqdm",
        "tqdm.notebook.tqdm",
        "tqdm.tqdm_notebook",
        "tqdm.std.tqdm",
        "tqdm.asyncio.tqdm",
        "tqdm.rich.tqdm",
        "rich.progress.track",
        "alive_progress.alive_it",
        "fastprogress.progress_bar",
        "fastprogress.fastprogress.progress_bar",
        "fastprogress.master_bar",
        "progressbar.progressbar",
        "click.progressbar",
        "logging_helpers.track",
    }
)
WRAPPERS: dict[str, str] = {
    "builtins.enumerate": "enumerate",
    "builtins.zip": "zip",
    "builtins.iter": "iter",
    "itertools.cycle": "cycle",
    "itertools.chain": "chain",
    "itertools.islice": "islice",
    "more_itertools.take": "islice",
    **dict.fromkeys(PROGRESS, "progress"),
}
"""Iterables around others: the first argument, or for zip and chain all of them."""

PREPARERS = frozenset(
    {"prepare", "prepare_data_loader", "prepare_dataloader", "setup_dataloaders", "setup_data_loaders"}
)
"""Methods of accelerate and Lightning Fabric that return their arguments, with loaders that shard and move batches."""

PREPARING = frozenset({"accelerate.data_loader.prepare_data_loader"})
"""Functions that do the same to their first argument."""

HANDING_THROUGH = frozenset({"split_between_processes"})
"""Methods that give their first argument back, or a part of it: of accelerate, a process's share of a batch."""

LIGHTNING_MODULES = frozenset(
    {"lightning.pytorch.LightningModule", "lightning.pytorch.LightningDataModule"}
    | {f"lightning.{name}" for name in ("LightningModule", "LightningDataModule")}
)
LIGHTNING_TRAINERS = frozenset(
    f"lightning.{name}" for name in ("Trainer", "pytorch.Trainer", "pytorch.Trainer.from_argparse_args")
)
"""What makes a Lightning Trainer; ``from_argparse_args`` is of Lightning 1."""

LOADER_HOOKS = ("train_dataloader", "val_dataloader")
"""Methods of Lightning modules whose loaders the Trainer iterates once an epoch."""

STEP_HOOKS = frozenset(
    {"training_step", "validation_step", "test_step", "prediction_step", "compute_loss", "on_step_end",
     "on_train_batch_start", "on_train_batch_end", "on_validation_batch_end"}
)  # fmt: skip
"""Methods that Lightning and the Trainer of transformers call for every batch."""

CPU_COUNTS = frozenset(
    {
        "os.cpu_count",
        "multiprocessing.cpu_count",
        "torch.multiprocessing.cpu_count",
        "joblib.cpu_count",
        "psutil.cpu_count",
    }
)

ENVIRONMENT = frozenset({"os.getenv", "os.environ.get", "os.environ.setdefault"})
"""Functions that read a variable of the environment, or give the default that they are passed."""

ACCELERATED = frozenset(
    {
        "torch.cuda.is_available",
        "torch.accelerator.is_available",
        "torch.xpu.is_available",
        "torch.npu.is_available",
        "torch.cuda.device_count",
    }
)
ACCELERATORS = frozenset({"cuda", "xpu", "npu", "hpu", "mlu", "musa", "privateuseone"})
"""Device types that copies go to asynchronously from pinned memory. mps is not one: it shares memory with the host."""

LISTING = frozenset(
    {
        "listdir",
        "ls",
        "glob",
        "rglob",
        "iglob",
        "iterdir",
        "readlines",
        "splitlines",
        "tolist",
        "iterrows",
        "itertuples",
        "getImgIds",
    }
)
"""Methods that give one Python object for each file, line, element or row, whatever they are called on."""

LISTS = {
    "torchvision.datasets.DatasetFolder.samples": ("listdir", "class"),
    "torchvision.datasets.ImageFolder.samples": ("listdir", "class"),
    "torchvision.datasets.ImageFolder.imgs": ("listdir", "class"),
    "torchvision.datasets.CocoDetection.ids": ("getImgIds",),
    "torchvision.datasets.CocoCaptions.ids": ("getImgIds",),
}
"""Attributes that list what an outside dataset has found: by which method, and the numbers that stand beside it."""

WEIGHTS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict"})
"""Methods that give a model's weights."""

JSON = ("json", "ujson", "orjson", "simplejson", "rapidjson", "json_tricks")
"""Libraries that read JSON."""

READING = frozenset(
    {
        "os.listdir",
        "os.scandir",
        "os.walk",
        "glob.glob",
        "glob.iglob",
        *(f"{library}.{name}" for library in JSON for name in ("load", "loads")),
        "csv.reader",
        "csv.DictReader",
        "builtins.open",
        "io.open",
        "codecs.open",
        "gzip.open",
        "torchvision.datasets.folder.make_dataset",
        "pycocotools.coco.COCO",
    }
)
"""Functions whose results are as large as a data set: listings, files and their lines, parsed files."""


TEXT_ARRAYS = frozenset({"numpy.loadtxt", "numpy.genfromtxt"})
"""Functions that read the lines of a text file as the rows of an array."""

TABLES = frozenset(
    {"pandas.read_csv", "pandas.read_json", "pandas.read_excel", "pandas.read_table", "pandas.read_pickle"}
)
"""Functions that read a pandas table, in whose text columns each cell is a Python object."""

PARSERS = frozenset(
    {
        "argparse.ArgumentParser",
        "configargparse.ArgumentParser",
        "configargparse.ArgParser",
        "jsonargparse.ArgumentParser",
    }
)

DEFAULTS_OF_CONFIGURATIONS = frozenset(
    {"yacs.config.CfgNode", "fvcore.common.config.CfgNode", "detectron2.config.CfgNode"}
)
"""Objects whose fields are defaults, which a file that the user names replaces."""

FIELDS: dict[str, tuple[str, ...]] = {
    "dataclasses.field": (),
    "attr.ib": ("default",),
    "attr.field": (),
    "attrs.field": (),
    "pydantic.Field": ("default",),
}
"""What declares a field of a record, with its positional arguments."""

CONFIGURATIONS = DEFAULTS_OF_CONFIGURATIONS | {
    "easydict.EasyDict", "addict.Dict", "munch.Munch", "munch.DefaultMunch", "box.Box", "ml_collections.ConfigDict",
    "ml_collections.config_dict.ConfigDict", "omegaconf.OmegaConf.create", "mmcv.ConfigDict", "mmengine.ConfigDict",
    "argparse.Namespace",
}  # fmt: skip
"""Objects whose fields are settings, by attribute or by item."""

HYDRA = "hydra.main"

MERGED = "omegaconf.OmegaConf.merge"
"""What lays configurations over one another."""

CONFIGURATION_READERS = frozenset(
    {HYDRA, "yaml.load", "yaml.safe_load", "yaml.full_load", "yaml.unsafe_load", "omegaconf.OmegaConf.load",
     *(f"{library}.load" for library in JSON)}
)  # fmt: skip
"""What reads a file of settings, or of something else."""

ADDS_ARGUMENTS = re.compile(r"add_(?:\w+_)?arg(?:ument)?s")
"""Functions of frameworks that add options to a parser and return it: ``deepspeed.add_config_arguments``."""

FRESH_TENSORS = frozenset(
    {"cat", "stack", "concat", "concatenate", "hstack", "vstack", "where", "zeros_like", "ones_like", "clone", "tensor",
     "as_tensor", "from_numpy", "zeros", "ones", "rand", "randn", "arange", "full", "empty", "randint", "randperm",
     "linspace"}
)  # fmt: skip
"""Functions of torch that return new memory, on the CPU unless told otherwise."""


HUB_DATASETS = frozenset(
    {"datasets.load_dataset", "datasets.load_from_disk", "datasets.DatasetDict", "datasets.Dataset.from_dict",
     "datasets.Dataset.from_pandas", "datasets.Dataset.from_csv", "datasets.Dataset.from_json",
     "datasets.Dataset.from_list", "datasets.Dataset.from_parquet"}
)  # fmt: skip
"""What makes a dataset of Hugging Face's, or several by their names: indexed, unless they are streamed."""

HUB_STEPS = frozenset(
    {"map", "filter", "select", "select_columns", "rename_column", "rename_columns", "remove_columns", "with_format",
     "with_transform", "cast", "cast_column", "flatten", "flatten_indices", "add_column", "shuffle", "sort", "shard",
     "train_test_split"}
)  # fmt: skip
"""Methods of such datasets that give another one."""


_TRANSFORMS = (
    "torchvision.transforms.",
    "torch.nn.Sequential",
    "albumentations.",
    "monai.transforms.",
    "audiomentations.",
)


def composes(name: str) -> bool:
    """Whether an outside class calls each of the functions that it is given a list of."""
    return name.startswith(_TRANSFORMS) and name.rpartition(".")[2] in (
        "Compose", "Sequential", "RandomApply", "RandomChoice", "RandomOrder", "OneOf", "SomeOf"
    )  # fmt: skip


def canonical(name: str) -> str:
    """The one name that a thing goes by, of the several that it can be imported by."""
    if name in _RENAMED:
        return _RENAMED[name]
    head, _, tail = name.rpartition(".")
    while head:
        if head in _ALIASES:
            return f"{_ALIASES[head]}.{tail}"
        head, _, last = head.rpartition(".")
        tail = f"{last}.{tail}"
    return name


def is_map_dataset(name: str) -> bool:
    return name in MAP_DATASETS or (name.startswith(MAP_DATASET_MODULES) and name.rpartition(".")[2][:1].isupper())
