"""``pytest-dataloader COMMAND``, also ``python -m pytest_dataloader``: which subcommand the words call."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.diagnosis.arguments import COMMAND
from pytest_dataloader.printable import did_you_mean, printable, put

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = {
    "check": ("check", "MODULE:ATTR", "measure one loader and hold it to limits"),
    "run": ("run", "SCRIPT [ARGS...]", "run a training script and measure the loaders that it iterates"),
    "attach": ("attach", "PID", "look at a running training from outside"),
    "tune": ("tune", "MODULE:ATTR", "find the settings that make a loader fastest here"),
    "compare": ("compare", "OLD.json NEW.json...", "set runs side by side"),
    "export": ("export", "REPORT.json", "print figures for Bencher or github-action-benchmark"),
    "trace record": ("record_trace", "MODULE:ATTR", "write a loader's timeline, for ui.perfetto.dev"),
    "trace merge": ("merge_trace", "TORCH.json OURS.json", "put it beside the events of torch.profiler"),
    "trace analyze": ("analyze_trace", "TORCH.json...", "say what a GPU waits for, from a trace of torch.profiler"),
}
"""By the words that call it: module, arguments, purpose."""
_OLDER = {"merge-trace": "trace merge"}
_USAGE = f"usage: {COMMAND} COMMAND ..."
_NO_COMMAND = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand that the arguments call; the status to exit with."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] in (["-h"], ["--help"]):
        put(f"{_help()}\n", sys.stdout)
        return 0
    if words[:1] == ["--version"]:
        put(f"{COMMAND} {importlib.metadata.version('pytest-dataloader')}\n", sys.stdout)
        return 0
    for count in (1, 2):
        called = " ".join(words[:count])
        called = _OLDER.get(called, called)
        if called in _COMMANDS:
            return _main_of(called, words[count:])
    if any(":" in word for word in words) or _is_dotted(words):
        return _main_of("check", words)
    print(printable(f"{COMMAND}: {_mistake(words)}\n{_USAGE}; {COMMAND} --help lists them"), file=sys.stderr)
    return _NO_COMMAND


def run() -> None:
    """The console script."""
    status = main()
    put("", sys.stdout)
    sys.exit(status)


def _main_of(name: str, words: Sequence[str]) -> int:
    module = importlib.import_module(f"pytest_dataloader.diagnosis.{_COMMANDS[name][0]}")
    return int(module.main(words))


def _mistake(words: Sequence[str]) -> str:
    if not words:
        return "which command?"
    first = words[0]
    if first == "trace":
        parts = [name.partition(" ")[2] for name in _COMMANDS if name.startswith("trace ")]
        wrong = f"no 'trace {words[1]}'" if len(words) > 1 else "more to say after trace"
        return f"there is {wrong}: expected {', '.join(parts)}{did_you_mean(words[1], parts) if len(words) > 1 else ''}"
    if first.startswith("-"):
        return f"expected a command or MODULE:ATTR before {first}"
    if first.endswith(".py") and Path(first).is_file():
        return f"there is no command {first!r}; did you mean run {first}?"
    names = [name.partition(" ")[0] for name in _COMMANDS]
    close = did_you_mean(first, names)
    return f"there is no command {first!r}: expected MODULE:ATTR, or one of {', '.join(dict.fromkeys(names))}{close}"


def _is_dotted(words: Sequence[str]) -> bool:
    """Whether the first word is ``module.attr``, which ``check`` says more of."""
    return bool(words) and "." in words[0] and not words[0].startswith("-") and not words[0].endswith(".py")


def _help() -> str:
    width = max(len(f"{name} {words}") for name, (_, words, _) in _COMMANDS.items())
    listed = [f"  {f'{name} {words}':<{width}}  {told}" for name, (_, words, told) in _COMMANDS.items()]
    return "\n".join(
        [
            _USAGE,
            "",
            "Find out why a PyTorch DataLoader is slow, grows, or repeats itself.",
            "",
            "commands:",
            *listed,
            "",
            "examples:",
            f"  {COMMAND} run train.py --epochs 1",
            f"  {COMMAND} check train:make_loader --quick",
            f"  {COMMAND} trace analyze torch.json",
            "",
            f"{COMMAND} COMMAND --help explains one; MODULE:ATTR alone is checked; --version",
        ]
    )
