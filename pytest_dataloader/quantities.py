"""Quantities as people write them: shares, figures, bytes."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share as a whole percentage.

    >>> percent(0.125)
    '12 %'
    """
    return f"{100 * share:.0f} %"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "batch"), counted(2000, "batch"), counted(2, "process"), counted(2, "segment of torch")
    ('1 batch', '2,000 batches', '2 processes', '2 segments of torch')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """More than one of a thing: what stands before "of" is counted."""
    head, of, rest = noun.partition(" of ")
    return f"{head}{'es' if head.endswith(('tch', 'ss')) else 's'}{of}{rest}"


def figure(value: float) -> str:
    """A number to three digits, thousands set off.

    >>> [figure(each) for each in (1234567.8, 912.4, 12.345, 0.01234, 0)]
    ['1,234,568', '912', '12.3', '0.0123', '0']
    """
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def size(count: float) -> str:
    """Bytes, in powers of ten as the limits are.

    >>> [size(each) for each in (1_500_000_000, 999_999_999, 32_000_000, 4_100, 12)]
    ['1.5 GB', '1.0 GB', '32.0 MB', '4.1 kB', '12 B']
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if abs(count) >= 0.99995 * factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:.0f} B"
