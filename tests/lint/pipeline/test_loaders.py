"""Loaders: where they are made, with which arguments, and what loops go over them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest
from dl_lint.flow.values import Const, Option
from dl_lint.source.positions import span

from ..describe import describe, probes

if TYPE_CHECKING:
    from dl_lint.project import Project

    from ..linked import Load

HEADER = "import torch\nfrom torch.utils.data import DataLoader, Dataset\n"
LINES = HEADER.count("\n")


def code(text: str) -> str:
    return HEADER + textwrap.dedent(text).lstrip("\n")


def lines(project: Project) -> list[int]:
    return [loader.call.lineno - LINES for loader in project.loaders()]


MADE = {
    "a call": ("DataLoader(d)", [1]),
    "a subclass": ("class L(DataLoader):\n    pass\nL(d)", [3]),
    "a subclass of a subclass": ("class L(DataLoader):\n    pass\nclass M(L):\n    pass\nM(d)", [5]),
    "through a module": ("torch.utils.data.DataLoader(d)", [1]),
    "through a name": ("cls = DataLoader if fast else None\ncls(d)", [2]),
    "through a parameter": ("def f(cls=None):\n    return cls(d)\nf(cls=DataLoader)", []),
    "of a partial": ("from functools import partial\nmake = partial(DataLoader, batch_size=2)\nmake(d)", [3]),
    "of another library": ("from torch_geometric.loader import NeighborLoader\nNeighborLoader(d)", [2]),
    "of the same name": ("class DataLoader:\n    pass\nDataLoader()", []),
    "in a dict": ("x = {'train': DataLoader(d)}", [1]),
    "of an import renamed": ("from torch.utils.data import DataLoader as L\nL(d)", [2]),
}


@pytest.mark.parametrize(("text", "expected"), MADE.values(), ids=MADE)
def test_constructions(load: Load, text: str, expected: list[int]) -> None:
    assert lines(load(code(text))) == expected


ARGUMENTS = {
    "a keyword": ("DataLoader(d, num_workers=2)", "2"),
    "by position": ("DataLoader(d, 1, False, None, None, 4)", "4"),
    "not given": ("DataLoader(d)", "absent"),
    "from a dict": ("kw = dict(num_workers=3)\nDataLoader(d, **kw)", "3"),
    "from a dict filled later": ("kw = {}\nkw['num_workers'] = 3\nDataLoader(d, **kw)", "3"),
    "from a dict filled perhaps": ("kw = {}\nif c:\n    kw.update(num_workers=3)\nDataLoader(d, **kw)", "3 | absent"),
    "from one of two dicts": ("kw = {'num_workers': 1} if c else {}\nDataLoader(d, **kw)", "1 | absent"),
    "from nobody knows": ("DataLoader(d, **kw)", "unknown"),
    "given beside nobody knows": ("DataLoader(d, num_workers=1, **kw)", "1"),
    "from a caller": ("def f(n):\n    return DataLoader(d, num_workers=n)\nf(2)", "2"),
    "from callers": ("def f(n):\n    return DataLoader(d, num_workers=n)\nf(2)\nf(0)", "0 | 2"),
    "from keywords of a caller": ("def f(**kw):\n    return DataLoader(d, **kw)\nf(num_workers=2)", "2"),
    "on the way through a subclass": (
        "class L(DataLoader):\n    def __init__(self, d, n):\n        super().__init__(d, num_workers=n)\nL(d, 5)",
        "5",
    ),
    "of a constant": ("N = 6\nDataLoader(d, num_workers=N)", "6"),
    "of an attribute": (
        "class C:\n    def __init__(self, n):\n        self.n = n\n    def f(self):\n"
        "        return DataLoader(d, num_workers=self.n)\nC(4).f()",
        "4",
    ),
    "of a partial": ("from functools import partial\nmake = partial(DataLoader, num_workers=2)\nmake(d)", "2"),
    "of a partial, given again": (
        "from functools import partial\nmake = partial(DataLoader, num_workers=2)\nmake(d, num_workers=3)",
        "3",
    ),
}


@pytest.mark.parametrize(("text", "expected"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(load: Load, text: str, expected: str) -> None:
    project = load(code(text))
    [loader] = project.loaders()
    assert describe(project.argument(loader, "num_workers").value) == expected


@pytest.mark.parametrize(
    ("given", "workers"),
    [
        ("", "none"),
        ("num_workers=0", "none"),
        ("num_workers=None", "none"),
        ("num_workers=2", "some"),
        ("num_workers=os.cpu_count()", "some"),
        ("num_workers=max(1, n)", "some"),
        ("num_workers=min(1, n)", "unknown"),
        ("num_workers=min(8, max(1, n))", "some"),
        ("num_workers=min(8, os.cpu_count())", "some"),
        ("num_workers=len(n)", "unknown"),
        ("num_workers=config.workers", "unknown"),
        ("num_workers=2 if c else 0", "unknown"),
        ("num_workers=2 if c else 4", "some"),
        ("**config", "unknown"),
    ],
)
def test_workers(load: Load, given: str, workers: str) -> None:
    project = load(code(f"import os\nDataLoader(d, {given})"))
    assert project.workers(project.loaders()[0]) == workers


@pytest.mark.parametrize(("passed", "workers"), [("4", "some"), ("0", "none"), ("n", "unknown")])
def test_the_least_of_a_number_and_a_parameter_is_that_of_what_callers_pass(
    load: Load, passed: str, workers: str
) -> None:
    project = load(code(f"def f(k):\n    return DataLoader(d, num_workers=min(8, k))\nf({passed})"))
    assert project.workers(project.loaders()[0]) == workers


@pytest.mark.parametrize(
    ("default", "workers", "said"), [("4", "some", 4), ("16", "some", 8), ("0", "default-none", 0)]
)
def test_the_least_of_a_number_and_an_option_is_that_option(load: Load, default: str, workers: str, said: int) -> None:
    project = load(code(f"def f(k={default}):\n    return DataLoader(d, num_workers=min(8, k))"))
    [loader] = project.loaders()
    assert project.workers(loader) == workers
    found = project.argument(loader, "num_workers").value
    assert isinstance(found, Option)
    assert found.default == Const(said, "int")


def test_workers_of_an_option_that_defaults_to_none(load: Load) -> None:
    project = load(code("def f(workers=0):\n    return DataLoader(d, num_workers=workers)"))
    assert project.workers(project.loaders()[0]) == "default-none"


@pytest.mark.parametrize(
    ("given", "pins"),
    [
        ("", "no"),
        ("pin_memory=True", "yes"),
        ("pin_memory=False", "no"),
        ("pin_memory=torch.cuda.is_available()", "yes"),
        ("pin_memory=(device == 'cuda')", "yes"),
        ("pin_memory=device.type != 'cpu'", "yes"),
        ("pin_memory=config.pin", "unknown"),
        ("pin_memory=True if c else False", "unknown"),
        ("**({'pin_memory': True} if c else {})", "yes"),
    ],
)
def test_pinning(load: Load, given: str, pins: str) -> None:
    project = load(code(f"DataLoader(d, {given})"))
    assert project.pins(project.loaders()[0]) == pins


LOOPS = {
    "for": ("l = DataLoader(d)\nfor b in l:\n    probe(b)", ["batch of line 3"]),
    "enumerate": ("for i, b in enumerate(DataLoader(d)):\n    probe(b)", ["batch of line 3"]),
    "unpacked": ("for x, y in DataLoader(d):\n    probe(y)", ["part of line 3"]),
    "a progress bar": (
        "from tqdm.auto import tqdm\nbar = tqdm(enumerate(DataLoader(d)), total=3)\n"
        "for i, (x, y) in bar:\n    probe(x)",
        ["part of line 4"],
    ),
    "a bar or none": (
        "from tqdm import tqdm\nl = DataLoader(d)\nfor b in tqdm(l) if c else l:\n    probe(b)",
        ["batch of line 4"],
    ),
    "zip": ("for a, b in zip(DataLoader(d), names):\n    probe(a)", ["batch of line 3"]),
    "cycle and next": (
        "from itertools import cycle\nit = cycle(DataLoader(d))\nfor _ in range(9):\n    probe(next(it))",
        ["batch of line 4"],
    ),
    "an endless generator of the project": (
        "def cycle(dl):\n    while True:\n        for data in dl:\n            yield data\nit = cycle(DataLoader(d))\n"
        "while True:\n    probe(next(it))",
        ["batch of line 7"],
    ),
    "a logger that yields": (
        "class Log:\n    def log_every(self, it, n):\n        for obj in it:\n            yield obj\nlog = Log()\n"
        "for b in log.log_every(DataLoader(d), 9):\n    probe(b)",
        ["batch of line 8"],
    ),
    "each loader its own through one generator": (
        "def every(it):\n    for obj in it:\n        yield obj\nfor b in every(DataLoader(d)):\n    probe(b)\n"
        "for b in every(DataLoader(d)):\n    probe(b)",
        ["batch of line 6", "batch of line 8"],
    ),
    "a wrapper class": (
        "class Wrap:\n    def __init__(self, l):\n        self.l = l\n    def __iter__(self):\n"
        "        for b in self.l:\n"
        "            yield b\nfor b in Wrap(DataLoader(d)):\n    probe(b)",
        ["batch of line 9"],
    ),
    "a prefetcher": (
        "class Fetch:\n    def __init__(self, l):\n        self.it = iter(l)\n        self.load()\n"
        "    def load(self):\n"
        "        self.x, self.y = next(self.it)\n    def next(self):\n        self.load()\n        return self.x\n"
        "f = Fetch(DataLoader(d))\nprobe(f.next())",
        ["part of line 12"],
    ),
    "passed": ("def train(l):\n    for b in l:\n        probe(b)\ntrain(DataLoader(d))", ["batch of line 6"]),
    "global": ("l = DataLoader(d)\ndef train():\n    for b in l:\n        probe(b)", ["batch of line 3"]),
    "from a builder": (
        "def build():\n    a = DataLoader(d)\n    b = DataLoader(d)\n    return a, b\nx, y = build()\n"
        "for b in y:\n    probe(b)",
        ["batch of line 5"],
    ),
    "on self": (
        "class T:\n    def __init__(self):\n        self.l = DataLoader(d)\n    def fit(self):\n"
        "        for b in self.l:\n"
        "            probe(b)",
        ["batch of line 5"],
    ),
    "in a dict": (
        "ls = {p: DataLoader(d) for p in ('a', 'b')}\nfor p in ls:\n    for b in ls[p]:\n        probe(b)",
        ["batch of line 3"],
    ),
    "in a list": (
        "ls = []\nfor n in ns:\n    ls.append(DataLoader(n))\nfor b in ls[0]:\n    probe(b)",
        ["batch of line 5"],
    ),
    "none or a loader": ("l = None\nif c:\n    l = DataLoader(d)\nfor b in l:\n    probe(b)", ["batch of line 5"]),
    "prepared": (
        "from accelerate import Accelerator\na = Accelerator()\nm, l = a.prepare(model, DataLoader(d))\nprobe(l)",
        ["loader DataLoader prepared"],
    ),
    "of a record": (
        "from dataclasses import dataclass\n@dataclass\nclass Info:\n    loader: DataLoader\n"
        "    sampler: object = None\n"
        "i = Info(loader=DataLoader(d))\nfor b in i.loader:\n    probe(b)",
        ["batch of line 8"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), LOOPS.values(), ids=LOOPS)
def test_batches_reach_their_loops(load: Load, text: str, expected: list[str]) -> None:
    assert probes(load(code(text))) == expected


REPEATED = {
    "a loop around": ("l = DataLoader(d)\nfor e in range(3):\n    for b in l:\n        pass", 2),
    "no loop around": ("l = DataLoader(d)\nfor b in l:\n    pass", None),
    "around the call": (
        "def train(l):\n    for b in l:\n        pass\nl = DataLoader(d)\nfor e in range(3):\n    train(l)",
        5,
    ),
    "around a call of the call": (
        "def step(l):\n    for b in l:\n        pass\ndef run(l):\n    step(l)\nl = DataLoader(d)\n"
        "while c:\n    run(l)",
        7,
    ),
    "built in the same loop": ("for e in range(3):\n    l = DataLoader(d)\n    for b in l:\n        pass", None),
    "built in a call in the same loop": (
        "def build():\n    return DataLoader(d)\nfor e in range(3):\n    for b in build():\n        pass",
        None,
    ),
    "in a method": (
        "class T:\n    def __init__(self):\n        self.l = DataLoader(d)\n    def epoch(self):\n"
        "        for b in self.l:\n            pass\n    def fit(self):\n        for e in range(3):\n"
        "            self.epoch()",
        8,
    ),
}


@pytest.mark.parametrize(("text", "expected"), REPEATED.values(), ids=REPEATED)
def test_the_loop_that_iterates_again(load: Load, text: str, expected: int | None) -> None:
    project = load(code(text))
    [loop] = project.loader_loops()
    found = project.repeated_by(loop, loop.loaders[0])
    assert (span(found)[0] - LINES if found is not None else None) == expected


TENSORS = {
    "moved": ("probe(b.to('cuda'))", "device tensor of batch"),
    "moved by keyword": ("probe(b.to(device='cuda:0', non_blocking=True))", "device tensor of batch"),
    "moved to what is called device": ("probe(b.to(args.device))", "device tensor of batch"),
    "to a number": ("probe(b.cuda(0))", "device tensor of batch"),
    "to the cpu": ("probe(b.to('cpu'))", "cpu tensor of batch"),
    "to a type": ("probe(b.to(torch.float16))", "host tensor of batch"),
    "to who knows": ("probe(b.to(other))", "unknown tensor of batch"),
    "to one of two devices": ("probe(b.to(torch.device('cuda' if c else 'cpu')))", "device tensor of batch"),
    "pinned": ("probe(b.pin_memory())", "pinned tensor of batch"),
    "a view": ("probe(b.view(-1))", "part"),
    "a part": ("probe(b['image'][0])", "part"),
    "a slice": ("probe(b[1:, :])", "part"),
    "the rest": ("_, *rest = b\nprobe(rest)", "list of part"),
    "the rest, moved": ("_, *rest = b\nx, y = [part.cuda() for part in rest]\nprobe(y)", "device tensor of part"),
    "a slice of columns": ("probe(b[:, 1:])", "unknown tensor of batch"),
    "a counted part": ("for i in range(4):\n    probe(b[0][i])", "part"),
    "a part by who knows what": ("probe(b[0][chosen(b)])", "unknown tensor of part"),
    "a mask": ("probe(b[b > 0])", "pageable tensor of batch"),
    "converted": ("probe(b.float())", "host tensor of batch"),
    "converted twice": ("probe(b.float().half())", "pageable tensor of host tensor of batch"),
    "converted to the same": ("probe(b.float().to(torch.float32))", "host tensor of host tensor of batch"),
    "converted to the same by an old name": (
        "probe(b.long().type('torch.LongTensor'))",
        "host tensor of host tensor of batch",
    ),
    "converted to who knows": ("probe(b.float().to(dtype))", "host tensor of host tensor of batch"),
    "converted, or moved": ("probe(b.type(kind))", "unknown tensor of batch"),
    "converted on the device": ("probe(b.cuda().float())", "device tensor of device tensor of batch"),
    "converted once new": ("probe((b / 255).float())", "pageable tensor of pageable tensor of batch"),
    "reordered": ("probe(b.permute(0, 2, 1))", "part"),
    "laid out": ("probe(b.contiguous())", "part"),
    "laid out anew": ("probe(b.permute(0, 2, 1).squeeze(1).contiguous())", "host tensor of part"),
    "halves of the batch": ("probe(b.chunk(2)[0])", "part"),
    "halves of each": ("probe(b.chunk(2, dim=1)[0])", "host tensor of batch"),
    "a sample": ("probe(b.select(0, 3))", "part"),
    "a column": ("probe(b.select(1, 3))", "host tensor of batch"),
    "expanded": ("probe(b.expand(4, 3))", "host tensor of batch"),
    "of sizes": ("probe(torch.LongTensor(4, 2).fill_(0))", "pageable tensor of unknown"),
    "of numbers": (
        "probe(torch.FloatTensor([n] * 4).view(-1).long())",
        "pageable tensor of pageable tensor of unknown",
    ),
    "of who knows": ("probe(torch.IntTensor(n))", "host tensor of unknown"),
    "of itself": ("probe(torch.FloatTensor(b))", "host tensor of batch"),
    "taken as it is": ("probe(torch.as_tensor(b))", "host tensor of batch"),
    "copied": ("probe(torch.tensor(b))", "pageable tensor of batch"),
    "computed": ("probe(b / 255)", "pageable tensor of batch"),
    "joined": ("probe(torch.cat([b, b]))", "pageable tensor of batch"),
    "joined on the device": ("x = b.cuda()\nprobe(torch.stack([x, x]))", "device tensor of device tensor of batch"),
    "an element of it moved": ("probe([x.cuda() for x in b][0])", "device tensor of part"),
    "a value of it moved": ("probe({k: v.cuda() for k, v in b.items()})", "dict of device tensor of part"),
    "moved by a helper": ("def move(x):\n    return x.cuda()\nprobe(move(b))", "device tensor of batch"),
    "wrapped": ("from torch.autograd import Variable\nprobe(Variable(b.cuda()))", "device tensor of batch"),
}


@pytest.mark.parametrize(("text", "expected"), TENSORS.values(), ids=TENSORS)
def test_where_tensors_live(load: Load, text: str, expected: str) -> None:
    [found] = probes(load(code("b = next(iter(DataLoader(d)))\n" + text)))
    assert found.replace(" of line 3", "") == expected


def test_transfers_say_where_to_and_whether_they_wait(load: Load) -> None:
    text = """
        def f(x, device, flag):
            x.to(device)
            x.to(device, non_blocking=True)
            x.cuda(non_blocking=flag)
            x.to(torch.float32)
            x.to("cpu", non_blocking=False)
            x.cuda(0, True)
            y.copy_(x, True)
            x.pin_memory()
    """
    found = [(one.method, one.destination, one.asynchronous) for one in load(code(text)).transfers()]
    assert found == [
        ("to", "device", False),
        ("to", "device", True),
        ("cuda", "device", None),
        ("to", "dtype", False),
        ("to", "cpu", False),
        ("cuda", "device", True),
        ("copy_", "unknown", True),
        ("pin_memory", "pinned", False),
    ]
