"""A user's script or module, executed in this process as ``python SCRIPT`` and ``python -m MODULE`` execute it."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadTarget
from pytest_dataloader.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Program:
    """A script, or a module by its name, and its arguments."""

    name: str
    is_module: bool
    arguments: tuple[str, ...] = ()

    def execute(self) -> None:
        """Execute it as ``__main__``. Whatever ends it comes out as it is; raises BadTarget where there is none.

        What it left in ``__main__`` stays there: its workers and pickles look for it.
        """
        if self.is_module:
            spec = self._spec()
            assert spec.loader is not None
            loader: Any = spec.loader
            path, code = spec.origin, loader.get_code(spec.name)
        else:
            spec, path = None, self._path()
            with io.open_code(path) as file:
                source = file.read()
        main = types.ModuleType("__main__")
        vars(main).update(
            __builtins__=builtins,
            __file__=path,
            __spec__=spec,
            __package__=None if spec is None else spec.parent,
            __loader__=None if spec is None else spec.loader,
            __cached__=None if spec is None else spec.cached,
        )
        sys.modules["__main__"] = main
        sys.argv = [str(path) if self.is_module else self.name, *self.arguments]
        if spec is None:
            code = compile(source, path, "exec", dont_inherit=True)
        exec(code, vars(main))

    def _path(self) -> str:
        path = os.path.abspath(self.name)  # noqa: PTH100  # links stay, as Python leaves them
        if not Path(path).is_file():
            raise BadTarget(f"there is no file {self.name}{self._instead(path)}")
        self._replace_first_path(str(Path(path).resolve().parent))
        return path

    def _instead(self, path: str) -> str:
        """What else may have been meant by a file that is not there."""
        if near := did_you_mean(Path(path).name, (each.name for each in Path(path).parent.glob("*.py"))):
            return near
        if Path(self.name.replace(".", "/")).with_suffix(".py").is_file():
            return f"; did you mean -m {self.name}?"
        script = next(iter(self.arguments), "")  # after "python", say
        return f"; did you mean {script}?" if script.endswith(".py") and Path(script).is_file() else ""

    def _spec(self) -> Any:
        self._replace_first_path(str(Path.cwd()))
        for name in (self.name, f"{self.name}.__main__"):
            try:
                spec = importlib.util.find_spec(name)
            except ModuleNotFoundError as error:
                raise BadTarget(f"there is no module {self.name!r}: {error}") from None
            except (ImportError, ValueError) as error:
                raise BadTarget(f"{self.name!r} cannot be run: {error}") from None
            if spec is None:
                raise BadTarget(f"there is no module {name!r}")
            if spec.submodule_search_locations is None:
                return spec
        raise BadTarget(f"{self.name!r} is a package without __main__")

    def _replace_first_path(self, folder: str) -> None:
        """Where Python would look first. It put the folder of our own command there, or the current one."""
        if not sys.flags.safe_path:
            sys.path[:1] = [folder]


def split_command(
    words: Sequence[str], takes_value: Sequence[str], modules: str = "-m"
) -> tuple[list[str], Program | None]:
    """Our own options, and the program that follows them with its arguments; None where there is none.

    >>> split_command(["--seconds", "1", "train.py", "--lr", "3"], ["--seconds"])
    (['--seconds', '1'], Program(name='train.py', is_module=False, arguments=('--lr', '3')))
    >>> split_command(["-mproj.train", "--lr", "3"], [])[1]
    Program(name='proj.train', is_module=True, arguments=('--lr', '3'))
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word == modules and at + 1 < len(words):
            return list(words[:at]), Program(words[at + 1], True, tuple(words[at + 2 :]))
        if word.startswith(modules) and word != modules:
            return list(words[:at]), Program(word.removeprefix(modules), True, tuple(words[at + 1 :]))
        if word == "--":
            rest = words[at + 1 :]
            return list(words[:at]), Program(rest[0], False, tuple(rest[1:])) if rest else None
        if not word.startswith("-"):
            return list(words[:at]), Program(word, False, tuple(words[at + 1 :]))
        at += 2 if word in takes_value else 1
    return list(words), None
