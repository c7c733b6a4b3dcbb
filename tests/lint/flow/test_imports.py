"""Names across files: which file an import finds, and what comes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..describe import probes

if TYPE_CHECKING:
    from ..linked import Load

PROJECTS = {
    "a sibling": ({"main.py": "from other import x\nprobe(x)", "other.py": "x = 1"}, "1"),
    "a sibling as a module": ({"main.py": "import other as o\nprobe(o.x)", "other.py": "x = 1"}, "1"),
    "a package": ({"main.py": "import a.b\nprobe(a.b.x)", "a/__init__.py": "", "a/b.py": "x = 1"}, "1"),
    "a namespace package": ({"main.py": "from a.b import x\nprobe(x)", "a/b.py": "x = 1"}, "1"),
    "relative": ({"a/__init__.py": "", "a/main.py": "from .b import x\nprobe(x)", "a/b.py": "x = 1"}, "1"),
    "relative to above": (
        {"a/__init__.py": "", "a/c/main.py": "from ..b import x\nprobe(x)", "a/b.py": "x = 1"},
        "1",
    ),
    "a module from a package": (
        {"a/main.py": "from . import b\nprobe(b.x)", "a/__init__.py": "", "a/b.py": "x = 1"},
        "1",
    ),
    "handed on": (
        {"main.py": "from a import x\nprobe(x)", "a/__init__.py": "from .b import x", "a/b.py": "x = 1"},
        "1",
    ),
    "handed on by a star": (
        {"main.py": "from a import x\nprobe(x)", "a/__init__.py": "from .b import *", "a/b.py": "x = 1"},
        "1",
    ),
    "a submodule that its package imports": (
        {"main.py": "import a\nprobe(a.b.x)", "a/__init__.py": "from . import b, c", "a/b.py": "x = 1"},
        "1",
    ),
    "a submodule that its package imports by its own name": (
        {"main.py": "from a import c\nprobe(c.x)", "a/__init__.py": "from a import b as c", "a/b.py": "x = 1"},
        "1",
    ),
    "a package in a package, with a table of the same name": (
        {
            "main.py": "import a\nprobe(a.b.x)",
            "a/__init__.py": "from . import b",
            "a/b/__init__.py": "b = 2\nfrom .c import x",
            "a/b/c.py": "x = 1",
        },
        "1",
    ),
    "what is bound after the submodule was imported": (
        {"main.py": "import a\nprobe(a.b)", "a/__init__.py": "from . import b\nb = 2", "a/b.py": "x = 1"},
        "2",
    ),
    "a submodule that is not there": (
        {"main.py": "import a\nprobe(a.b.x)", "a/__init__.py": "from . import b", "b.py": "x = 1"},
        "unknown",
    ),
    "a function of a module by its name": (
        {"main.py": "import a\nprobe(a.__dict__['f'](1))", "a.py": "def f(x):\n    return [x]"},
        "list(1)",
    ),
    "any function of a module": (
        {
            "main.py": "import a\ndef g(name):\n    probe(a.__dict__[name]())",
            "a.py": "import os\nkept = 4\ndef f():\n    return 1\ndef h():\n    return 2\ndef _i():\n    return 3",
        },
        "1 | 2",
    ),
    "any function of a package, which has it by a star": (
        {
            "main.py": "import a\ndef g(name):\n    probe(vars(a)[name]())",
            "a/__init__.py": "from .b import *",
            "a/b.py": "def f():\n    return 1",
        },
        "1",
    ),
    "any function of a module, which may have others": (
        {
            "main.py": "import a\ndef g(name):\n    probe(a.__dict__[name]())",
            "a.py": "from torch.nn import *\ndef f():\n    return 1",
        },
        "1 | unknown",
    ),
    "any class of a module, by a name that is passed": (
        {
            "main.py": "import a\ndef build(module, name, *args):\n    return getattr(module, name)(*args)\n"
            "def g(config):\n    probe(build(a, config['type']))",
            "a.py": "class A:\n    pass",
        },
        "a A",
    ),
    "an attribute of an object, by a name that is passed": (
        {
            "main.py": "import a\ndef g(config):\n    probe(getattr(a.A(), config['type'])())",
            "a.py": "class A:\n    def f(self):\n        return 1",
        },
        "unknown",
    ),
    "a name that a module does not have": (
        {"main.py": "import a\nprobe(a.__dict__['g'](1))", "a.py": "def f(x):\n    return [x]"},
        "unknown",
    ),
    "a module that has itself by a star": (
        {"main.py": "import a\nprobe(a.__dict__['f']())", "a/__init__.py": "from a import *\ndef f():\n    return 1"},
        "1",
    ),
    "a circle of imports": (
        {"main.py": "from a import x\nprobe(x)", "a.py": "from b import x", "b.py": "from a import x"},
        "unknown",
    ),
    "under src": (
        {"tests/main.py": "from p.m import x\nprobe(x)", "src/p/__init__.py": "", "src/p/m.py": "x = 1"},
        "1",
    ),
    "from a folder above": ({"tools/main.py": "from p import x\nprobe(x)", "p.py": "x = 1"}, "1"),
    "the nearest of two": (
        {"one/main.py": "from utils import x\nprobe(x)", "one/utils.py": "x = 1", "utils.py": "x = 2"},
        "1",
    ),
    "a folder put on the path": (
        {"main.py": "import sys\nsys.path.append('core')\nfrom data import x\nprobe(x)", "core/data.py": "x = 1"},
        "1",
    ),
    "a folder beside the file put on the path": (
        {
            "tools/main.py": "import sys, os.path as osp\nhere = osp.dirname(osp.abspath(__file__))\n"
            "sys.path.insert(0, osp.join(here, '..', 'lib'))\nfrom data import x\nprobe(x)",
            "lib/data.py": "x = 1",
        },
        "1",
    ),
    "a folder put on the path by pathlib": (
        {
            "tools/main.py": "import sys\nfrom pathlib import Path\nroot = Path(__file__).resolve().parents[1]\n"
            "sys.path.append(str(root / 'lib'))\nfrom data import x\nprobe(x)",
            "lib/data.py": "x = 1",
        },
        "1",
    ),
    "a folder put on the path by a sum of texts": (
        {
            "a/main.py": "import os, sys\nsys.path.append(os.path.dirname(__file__) + '/../lib')\n"
            "from data import x\nprobe(x)",
            "lib/data.py": "x = 1",
        },
        "1",
    ),
    "a folder put on the path by a module that is imported for that": (
        {
            "tools/main.py": "import _init_paths\nfrom data import x\nprobe(x)",
            "tools/_init_paths.py": "import os.path as osp\nimport sys\n\n\ndef add_path(path):\n"
            "    if path not in sys.path:\n        sys.path.insert(0, path)\n\n\n"
            "this_dir = osp.dirname(__file__)\nadd_path(osp.join(this_dir, '..', 'lib'))\n",
            "lib/data.py": "x = 1",
        },
        "1",
    ),
    "a folder that another function may put on the path": (
        {
            "tools/main.py": "import sys\ndef later():\n    sys.path.append('../lib')\nfrom data import x\nprobe(x)",
            "lib/data.py": "x = 1",
        },
        "data.x",
    ),
    "a folder of which the text does not tell": (
        {
            "tools/main.py": "import os, sys\nsys.path.append(os.environ['LIB'])\nfrom data import x\nprobe(x)",
            "lib/data.py": "x = 1",
        },
        "data.x",
    ),
    "of another sub-project": (
        {"one/main.py": "from data import x\nprobe(x)", "one/data.py": "x = 1", "two/data.py": "x = 2"},
        "1",
    ),
    "a function of another file": (
        {"main.py": "from a import f\nprobe(f(1))", "a.py": "def f(x):\n    return [x]"},
        "list(1)",
    ),
    "called from another file": (
        {"main.py": "def f(x):\n    probe(x)", "a.py": "import main\nmain.f(3)"},
        "3",
    ),
    "a base in another file": (
        {
            "main.py": "from a import B\nclass C(B):\n    pass\nprobe(C(1).x)",
            "a.py": "class B:\n    def __init__(self, x):\n        self.x = x",
        },
        "1",
    ),
    "torch is never a folder": (
        {"main.py": "import torch\nprobe(torch.float32)", "torch/__init__.py": "float32 = 1"},
        "torch.float32",
    ),
    "a folder without modules is no package": (
        {"main.py": "import wandb\nprobe(wandb.init)", "wandb/run.txt": ""},
        "wandb.init",
    ),
    "an import that may fail": (
        {"main.py": "try:\n    import a\nexcept ImportError:\n    a = None\nprobe(a)"},
        "None | a",
    ),
    "aliases of one class": (
        {"main.py": "from torch.utils.data.dataloader import DataLoader\nprobe(DataLoader)"},
        "torch.utils.data.DataLoader",
    ),
    "a module renamed": (
        {"main.py": "import torch.utils.data as data\nprobe(data.Dataset)"},
        "torch.utils.data.Dataset",
    ),
    "a module from a module": (
        {"main.py": "from torch.utils import data\nprobe(data.Dataset)"},
        "torch.utils.data.Dataset",
    ),
    "a star from outside": ({"main.py": "from torch import *\nprobe(zeros)"}, "torch.zeros"),
    "two stars from outside": ({"main.py": "from torch import *\nfrom numpy import *\nprobe(zeros)"}, "unknown"),
    "a name that nothing binds": ({"main.py": "probe(undefined)"}, "unknown"),
    "a builtin": ({"main.py": "probe(len)"}, "builtins.len"),
}


@pytest.mark.parametrize(("files", "expected"), PROJECTS.values(), ids=PROJECTS)
def test_imports(load: Load, files: dict[str, str], expected: str) -> None:
    assert probes(load(files, unlinted=tuple(path for path in files if not path.endswith(".py")))) == [expected]


def test_a_file_that_is_only_imported_is_read_but_not_linted(load: Load) -> None:
    files = {"main.py": "from other import x\nprobe(x)", "other.py": "import torch\ntorch.cuda.empty_cache()\nx = 1"}
    project = load(files, unlinted=("other.py",))
    assert probes(project) == ["1"]
    assert [file.path for file in project.files] == ["main.py"]
    assert list(project.calls("torch.cuda.empty_cache")) == []


def test_words_are_looked_for_in_the_sub_project(load: Load) -> None:
    files = {
        "one/README.md": "",
        "one/main.py": "x = 1",
        "one/deep/hook.py": "sampler.set_epoch(1)",
        "two/README.md": "",
        "two/main.py": "y = 1",
    }
    project = load(files, unlinted=("one/README.md", "two/README.md", "one/deep/hook.py"))
    one, two = (file.module.bindings[name][0].node for file, name in zip(project.files, "xy", strict=True))
    assert project.mentions(one, "set_epoch")
    assert not project.mentions(two, "set_epoch")


def test_pictures_in_notebooks_hold_no_words(load: Load) -> None:
    cell = '{"cells": [{"cell_type": "code", "source": ["%s"], "outputs": [{"data": {"image/png": "%s"}}]}]}'
    picture = "iVBORw0KGgo" * 40 + "/mmcv/" + "aGVsbG8x" * 40
    files = {
        "one/README.md": "",
        "one/main.py": "x = 1",
        "one/seen.ipynb": cell % ("y = 1", picture),
        "two/README.md": "",
        "two/main.py": "y = 1",
        "two/seen.ipynb": cell % ("import mmcv", picture),
    }
    project = load(files, unlinted=tuple(name for name in files if not name.endswith("main.py")))
    one, two = (file.module.bindings[name][0].node for file, name in zip(project.files, "xy", strict=True))
    assert not project.mentions(one, "mmcv")
    assert project.mentions(two, "mmcv")
