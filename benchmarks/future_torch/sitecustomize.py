"""Changes torch's data loading as it is imported: each process of a run has this first on its path.

``FUTURE_TORCH`` is JSON: pairs of a regular expression and what takes its place in torch's files that load data.
"""

import json
import os
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path

_CHANGES = json.loads(os.environ.get("FUTURE_TORCH", "[]"))
_FILES = ("torch/utils/data/", "torch/_utils.py", "torchdata/stateful_dataloader/")
_VERSION = "torch/torch_version.py"
_load = SourceFileLoader.get_code


def get_code(loader, name):
    path = loader.path
    if path.endswith(_VERSION):
        source = Path(path).read_text(encoding="utf-8")
        return compile(source.replace("TorchVersion(internal_version)", 'TorchVersion("2.16.0")'), path, "exec")
    if not _CHANGES or not any(part in path for part in _FILES):
        return _load(loader, name)
    source = Path(path).read_text(encoding="utf-8")
    for old, new in _CHANGES:
        source = re.sub(old, new, source)
    return compile(source, path, "exec", dont_inherit=True)


SourceFileLoader.get_code = get_code
