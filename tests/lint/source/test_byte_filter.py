"""The byte filter lets through every file that can hold the site of a finding, and spares what it can."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from dl_lint.source.byte_filter import is_opaque, might_matter

CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize(
    "text",
    [
        "from torch.utils.data import DataLoader\n",
        "class VQA(BaseDataset):\n    def __init__(self): self.rows = []\n",
        "class Reader:\n    def __getitem__(self, i): ...\n    def __len__(self): ...\n",
        "def train(model, batches, device):\n  for x in batches:\n    model(x.to(device)).backward(); import torch\n",
        "import torch\ndef train(loader):\n  for x in loader: x.cuda()\n",
        "import torch\nclass A:\n  def __getitem__(self, i): return next(self.it)\n",
        "def to(x, device): return x.to(device, non_blocking=True)\n",
        "x = host.pin_memory()\n",
        "parser.add_argument('--workers', default=os.cpu_count())\n",
        "def seed_worker(worker_id): np.random.seed(0)\n",
        "def collate_fn(batch): return next(iter(batch))\n",
        "np.random.seed(torch.initial_seed())\n",
        "mp.set_sharing_strategy('file_system')\n",
        "sampler.set_epoch(0)\n",
        "model = DistributedDataParallel(model)\n",
        "from accelerate import Accelerator\nloader = accelerator.prepare(loader)\n",
        "import lightning as L\nclass D(L.LightningDataModule):\n  def train_dataloader(self): ...\n",
        "torch.cuda.empty_cache()\n",
        "import torch\nfrom .loaders import (\n    make,\n)\nmake().dataset = None\n",
        "import torch\nfor x in args.loader_train: x.cuda()\n",
        "import random\nclass Gain:\n  def __init__(self): self.rng = random.Random()\n",
        "def forever(items):\n  while True:\n    for one in items: yield one\n",
        "options = Options().parse()\nif __name__ == '__main__':\n    Trainer(options).run()\n",
        "import torch\ndef loss(a, m): return a / torch.tensor(1.0).to(m.device)\n",
        "import torch\nclass A(B):\n  def forward(self, x): return x * torch.from_numpy(np.array([1, 3])).cuda()\n",
    ],
)
def test_a_file_with_a_site_matters(text: str) -> None:
    assert might_matter(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import numpy as np\nx = np.zeros(3)\n",
        "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x): return x.to(self.device)\n",
        "import torch\nx = torch.from_numpy(image).to(device) + torch.tensor(rows).cuda()\n",
        "import torch\nx = torch.tensor([1.0])\nx = x.cuda()\n",
        "loader = importlib.machinery.SourceFileLoader('a', 'b')\n",
        "with Pool(os.cpu_count()) as pool: pool.map(f, xs)\n",
        "class Headers(dict):\n  def __getitem__(self, key): ...\n",
        "tokens = yaml.load(text, Loader=yaml.SafeLoader)\n",
        "parser.add_argument('--epochs')\n",
        "import numpy as np\nrng = np.random.default_rng(0)\n",
        "import torch\nfrom ..loaders import (\n    FileLoaderMixin,\n    LoraLoaderMixin\n)\nx = P\n",
        "import torch\nclass Pipeline:\n  'See [`~loaders.WeightsLoaderMixin.load`].'\n",
        "def first(items):\n  for one in items: yield one\n",
        "while True:\n  print(input())\n",
        "if __name__ == '__main__':\n    print(parser.parse_args().text)\n",
    ],
)
def test_a_file_without_one_is_spared(text: str) -> None:
    assert not might_matter(text.encode())


MODELS = "import torch\n" + "# layers\n" * 3000 + "\nclass Net(torch.nn.Module):\n    pass\n\n\ndef make(): ...\n"


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (MODELS, "Net", False),
        (MODELS, "Absent", False),
        ("from .b import x\n", "y", False),
        (MODELS, "make", True),
        ("from .b import *\n", "y", True),
        ("class Net: ...\n", "Net", True),
        (MODELS.replace("class Net", "@dataclass\nclass Net"), "Net", True),
        (MODELS + "for epoch in range(9): ...\n", "Net", True),
        (MODELS + "def parse(self, batch): ...\n", "Net", True),
        (MODELS + "def collate_fn(batch): ...\n", "Net", True),
        (MODELS.replace("torch", "keras"), "Net", True),
    ],
)
def test_a_file_is_read_for_a_name_that_it_may_say_something_about(text: str, name: str, said: bool) -> None:
    assert is_opaque(text.encode(), name) is not said


def test_the_user_s_own_loader_classes_matter() -> None:
    text = b"for x in FastFeeder(rows): ...\n"
    assert not might_matter(text)
    assert might_matter(text, ["proj.data.FastFeeder"])


# Nothing in it tells that it serves a dataset; the project reads it because the dataset's file imports it.
REACHED_BY_IMPORT = {"captions.py"}


def sites() -> list[Path]:
    found = sorted(path for path in CASES.rglob("*.py") if b"# expect" in path.read_bytes())
    return [path for path in found if path.name not in REACHED_BY_IMPORT]


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.name)
def test_every_file_of_cases_with_an_expected_finding_matters(path: Path) -> None:
    assert might_matter(path.read_bytes())


def examples() -> list[tuple[str, str]]:
    """The code under "Example" in the documentation of each rule, which is what the rule flags."""
    rules = Path(inspect.getfile(import_module("dl_lint.rules"))).parent
    found = []
    for path in sorted(rules.glob("*.py")):
        documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        _, heading, rest = documentation.partition("## Example\n")
        if heading:
            found.append((path.stem, rest.partition("## Use instead")[0]))
    assert len(found) > 30
    return found


@pytest.mark.parametrize(("name", "text"), examples(), ids=lambda value: value if value.isidentifier() else "")
def test_the_example_of_every_rule_matters(name: str, text: str) -> None:
    assert might_matter(text.encode()), name
