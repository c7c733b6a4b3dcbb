"""Makes the stubs of ``lint/dl_lint/models/generated`` of what the installed torch, numpy and pandas say of themselves.

    python benchmarks/model_stubs.py [--check]

* torch: the schemas of its operators tell what a method or function returns (a view, new memory, the tensor itself,
  a number), and the device "meta", which holds no values, whether a number is known without these.
* numpy: each function is called with a small array, and its result compared with that.
* pandas: the readers whose annotation says that they give a table.

``--check`` writes nothing, and exits 1 where a stub differs from what would be written.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import sys
import typing
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "lint" / "dl_lint" / "models" / "generated"

IMPORT = "from dl_lint.models import *"

Rows = dict[str, str]
"""What each name gives."""

_SKIPPED = {"to", "cuda", "cpu", "xpu", "mtia", "ipu", "pin_memory", "copy_", "get_device"}
"""Copies between host and device, which the linter looks at call by call."""

_CASTS = {"bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short",
          "type", "type_as"}  # fmt: skip


# --- torch -------------------------------------------------------------------------------


def tensor_methods() -> Rows:
    import torch

    found: Rows = {}
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("__") or name in _SKIPPED:
            continue
        member = getattr(torch.Tensor, name)
        if not callable(member):
            continue
        kind = "Cast[self]" if name in _CASTS else _of_schemas(name, "self") or _tried(name)
        if kind is not None:
            found[name] = kind
    for name in [name for name in found if name.endswith("_")]:
        base = found.get(name[:-1], "")
        attribute = hasattr(torch.Tensor, name[:-1]) and not callable(getattr(torch.Tensor, name[:-1]))
        if base.startswith("View") or attribute:  # changes how the tensor is laid out, and no value in it
            found[name] = "View[self]"
    return {name: kind for name, kind in found.items() if not name.startswith("_")}


def tensor_attributes() -> Rows:
    """Those that are tensors are views; all others are known without the values."""
    import torch

    sample = torch.rand(2, 2, dtype=torch.complex64)
    found: Rows = {}
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("_") or callable(getattr(torch.Tensor, name)):
            continue
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(sample, name)
            if value is not None:
                found[name] = "View" if isinstance(value, torch.Tensor) else "Metadata"
    return found


def torch_functions() -> Rows:
    import torch

    found: Rows = {}
    for name in sorted(dir(torch)):
        if name.startswith("_") or not callable(getattr(torch, name)) or inspect.isclass(getattr(torch, name)):
            continue
        kind = _of_schemas(name, "input")
        if kind is not None and not (name.endswith("_") and kind.startswith("Writes")):
            found[name] = kind
    return found


def _of_schemas(name: str, operand: str) -> str | None:
    """What all overloads of an operator say that it returns."""
    import torch

    schemas = [
        one
        for one in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        if (_takes_tensor(one) or _gives_tensor(one)) and not _fills_argument(one)
    ]
    if not schemas:
        return None
    if operand == "self":
        schemas = [one for one in schemas if one.arguments and "Tensor" in str(one.arguments[0].type)] or schemas
    kinds = {_of_schema(one, name, operand) for one in schemas}
    for kind in ("Writes", "Fresh", "New", "View", "Read", "Metadata"):
        if any(one.startswith(kind) for one in kinds):
            found = next(one for one in sorted(kinds, reverse=True) if one.startswith(kind))
            draws = " | Draws" if _is_tagged(name, "nondeterministic_seeded") else ""
            several = " | Several" if any(map(_gives_several, schemas)) else ""
            return found + draws + several + (" | Sized" if _is_tagged(name, "dynamic_output_shape") else "")
    return None


def _is_tagged(name: str, tag: str) -> bool:
    """Whether torch tags an operator so: ``nondeterministic_seeded`` are those that use the global generator."""
    import torch

    operator = getattr(torch.ops.aten, name)
    return any(getattr(torch.Tag, tag) in getattr(operator, one).tags for one in operator.overloads())


def _gives_several(schema: Any) -> bool:
    """Whether an overload gives a tuple or a list."""
    return len(schema.returns) > 1 or any("List" in str(one.type) for one in schema.returns)


def _fills_argument(schema: Any) -> bool:
    """Whether an overload is the one with ``out=``."""
    return any(one.kwarg_only and one.alias_info is not None and one.alias_info.is_write for one in schema.arguments)


def _takes_tensor(schema: Any) -> bool:
    return any("Tensor" in str(one.type) for one in schema.arguments)


def _gives_tensor(schema: Any) -> bool:
    return any("Tensor" in str(one.type) for one in schema.returns)


def _of_schema(schema: Any, name: str, operand: str) -> str:
    unread = name.startswith("new_") or name.endswith("_like")
    is_factory = not unread and any(one.name == "device" for one in schema.arguments)
    over = f"[{operand}]" if _takes_tensor(schema) and not is_factory else ""
    if not schema.returns:
        return ""
    if any(one.alias_info is not None and one.alias_info.is_write for one in schema.returns):
        return f"Writes{over}"
    if any(one.alias_info is not None for one in schema.returns):
        return f"View{over}"
    if _gives_tensor(schema):
        return f"{'Fresh' if over and not unread else 'New'}{over}"
    return f"Metadata{over}" if _is_known_without_values(name) else f"Read{over}"


def _is_known_without_values(name: str) -> bool:
    """Whether a tensor without memory can be asked."""
    import torch

    tensor = torch.empty((1, 1), device="meta")
    function = getattr(tensor, name, None) or getattr(torch, name)
    bound = hasattr(tensor, name)
    for given in ((), (0,), (tensor,), (torch.float32,)):
        try:
            function(*(given if bound else (tensor, *given)))
        except (TypeError, IndexError):
            continue
        except Exception:
            return False
        return True
    return False


def _tried(name: str) -> str | None:
    """A method that is no operator: what it makes of a small tensor."""
    import torch

    tensor = torch.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in ((), ([1.0],), (lambda value: value,), (lambda _: None,)):
            try:
                found = getattr(tensor, name)(*given)
            except Exception:
                continue
            if isinstance(found, tuple):
                return "Fresh[self] | Several"
            if isinstance(found, torch.Tensor):
                if found.layout != tensor.layout:
                    return "Fresh[self]"
                shares = found.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
                return "View[self]" if shares else "New[self]" if name.startswith("new") else "Fresh[self]"
            if hasattr(found, "__array_interface__"):
                return "Array[self]"
            return "Metadata[self]" if _is_known_without_values(name) else "Read[self]"
    return None


# --- numpy and pandas --------------------------------------------------------------------


def numpy_functions() -> Rows:
    import numpy as np

    found: Rows = {}
    for name in sorted(np.__all__):
        function = getattr(np, name)
        if not callable(function) or inspect.isclass(function) or name == "test":
            continue
        array = np.full((2, 2), 0.5)
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):
            warnings.simplefilter("ignore")
            for given in ((array,), (array, array), (array, 0), (array, (2, 2))):
                try:
                    made = function(*given)
                except Exception:
                    continue
                found[name] = _of_array(made, array, name)
                break
    return found


def _of_array(made: Any, array: Any, name: str) -> str:
    import numpy as np

    if isinstance(made, list | tuple) and made and isinstance(made[0], np.ndarray):
        made = made[0]
    if isinstance(made, np.ndarray):
        if np.shares_memory(made, array):
            return "View[array]"
        return "New[array]" if name.endswith("_like") else "Fresh[array]"
    return "Metadata[array]" if name in ("shape", "ndim", "size", "iscomplexobj", "isrealobj") else "Read[array]"


def pandas_readers() -> Rows:
    import pandas as pd

    found: Rows = {}
    for name in sorted(dir(pd)):
        if name.startswith("read_"):
            given = typing.get_overloads(getattr(pd, name)) or [getattr(pd, name)]
            if any("DataFrame" in str(inspect.signature(one).return_annotation) for one in given):
                found[name] = "Table"
    return found


# --- stubs -------------------------------------------------------------------------------


def stub(version: str, functions: Rows, methods: Rows | None = None, attributes: Rows | None = None) -> str:
    lines = [f"# Made by benchmarks/model_stubs.py of {version}: change that, not this.", IMPORT]
    if methods is not None:
        lines += ["", "class Tensor:"]
        lines += [f"    {name}: {kind}" for name, kind in (attributes or {}).items()]
        lines += [f"    def {name}(self, *args) -> {kind}: ..." for name, kind in methods.items()]
    lines += ["", *(_function(name, kind) for name, kind in functions.items())]
    return "\n".join(lines) + "\n"


def _function(name: str, kind: str) -> str:
    operand = kind.partition("[")[2].partition("]")[0]
    return f"def {name}({operand + ', ' if operand else ''}*args) -> {kind}: ..."


def stubs() -> dict[Path, str]:
    import numpy as np
    import pandas as pd
    import torch

    torch_version = torch.__version__.partition("+")[0]
    return {
        FOLDER / "torch.pyi": stub(f"torch {torch_version}", torch_functions(), tensor_methods(), tensor_attributes()),
        FOLDER / "numpy.pyi": stub(f"numpy {np.__version__}", numpy_functions()),
        FOLDER / "pandas.pyi": stub(f"pandas {pd.__version__}", pandas_readers()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [path for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    for path, text in stubs().items() if not check else ():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(*(f"{path.name}: {'stale' if check else 'written'}" for path in stale), sep="\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
