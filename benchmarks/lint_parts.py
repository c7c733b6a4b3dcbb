"""Where the CPU seconds of a cold run of dl-lint go, part by part, in one process with nothing imported before.

    python benchmarks/lint_parts.py FOLDER

The folder's cache is deleted. Parts that this process cannot see are not told: the start of Python and its end.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Clock:
    """CPU seconds by part; what runs inside of another part counts for the inner one only."""

    seconds: dict[str, float] = field(default_factory=dict)
    _running: list[str] = field(default_factory=list)
    _since: float = field(default_factory=time.process_time)

    def _switch(self) -> None:
        now = time.process_time()
        part = self._running[-1] if self._running else "rest"
        self.seconds[part] = self.seconds.get(part, 0) + now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            with self.part(name):
                return function(*arguments, **keywords)

        return run


def breakdown(folder: Path) -> None:
    """One cold run in this process, part by part."""
    gc.disable()  # as the command does
    clock = Clock()
    with clock.part("import"):
        import dl_lint.cli
        import dl_lint.engine.analysis
        from dl_lint.engine import analysis, catalogue, reading, relevance
        from dl_lint.flow import imports
        from dl_lint.project import Project
        from dl_lint.source import nesting, parser

        list(catalogue.load(catalogue.entries().values()))
    for module, name, part in (
        (relevance, "relevant", "byte filter"),
        (parser, "_parsed", "ast.parse"),
        (nesting, "bound_depth", "depth of trees"),
        (reading.Reading, "gather", "reading, rest"),
        (imports, "index_file", "index of scopes"),
        (Project, "load", "linking"),
        (analysis.Analysis, "_run_rules", "rules"),
    ):
        vars_ = vars(module)
        made = vars_[name]
        if isinstance(made, classmethod):
            setattr(module, name, classmethod(clock.timed(part, made.__func__)))
        else:
            setattr(module, name, clock.timed(part, made))
    os.chdir(folder)
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: PTH123, SIM115
    with clock.part("files, cache, output"):
        dl_lint.cli.main(["--no-cache"])
    sys.stdout = stdout
    total = sum(clock.seconds.values())
    print(f"\n{folder.name}: {total:.2f} s")
    for part, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        print(f"  {part:24} {seconds:7.2f} s {100 * seconds / total:5.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    breakdown(parser.parse_args().folder)


if __name__ == "__main__":
    main()
