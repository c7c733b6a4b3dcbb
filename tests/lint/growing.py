"""Modules of so many times the same, by which tests and benchmarks see how time grows with a text."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["suppressions", "findings", "suppressed findings", "assignments"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def text(kind: Kind, head: str, times: int) -> str:
    """``head``, which ends inside a function with a ``dataset``, and more of a kind behind it."""
    numbers = range(1, 125 * times)
    match kind:
        case "suppressions":
            return head + "".join(f"x{i} = {i}  # dl-lint: ignore[DL301]\n" for i in range(500 * times))
        case "findings":
            return head + "".join(f"    DataLoader(dataset, num_workers=0, prefetch_factor={i})\n" for i in numbers)
        case "suppressed findings":
            call = "    DataLoader(dataset, num_workers=0, prefetch_factor={})  # dl-lint: ignore[DL206, DL208]\n"
            return head + "".join(call.format(i) for i in numbers)
        case "assignments":
            rounds = "    if c:\n        a, b = b, a\n    else:\n        b = a\n" * (10 * times)
            return f"{head}\n\ndef g(c):\n    a = b = None\n{rounds}    return DataLoader(a, num_workers=b)\n"
