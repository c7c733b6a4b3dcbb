"""Descriptors or shared memory that ran out, read from what torch raises."""

from __future__ import annotations


def what_ran_out(error: BaseException) -> str:
    """The part of a loader's exception that says that descriptors or shared memory ran out; empty for any other."""
    known = (
        "Too many open files",
        "received 0 items of ancdata",
        "No space left on device",
        "insufficient shared memory",
    )
    chain: BaseException | None = error
    while chain is not None:
        for line in reversed(str(chain).splitlines()):
            if any(words in line for words in known):
                return line.strip()
        chain = chain.__cause__ or chain.__context__
    return ""
