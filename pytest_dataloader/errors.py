"""Errors that the user can fix; none of them is a fault of the loader."""

from __future__ import annotations


class DataLoaderCheckError(Exception):
    """Base of every error that this package raises on purpose."""


class BadLimit(DataLoaderCheckError):
    """A limit that no loader could be held to: unknown, of the wrong type, negative, or contradictory."""


class BadTarget(DataLoaderCheckError):
    """A declared target that cannot be used; the message names the pyproject.toml key."""


class BadBaseline(DataLoaderCheckError):
    """A file of baselines that cannot be read; the message names it."""


class BadTrace(DataLoaderCheckError):
    """A file that is no trace, or traces that are not of one run."""


class BadReport(DataLoaderCheckError):
    """A file that is no report of ``--dataloader-json``, or two that have no check in common."""


class NotMeasured(DataLoaderCheckError):
    """A figure was asked for that this run did not measure."""


class NothingSeen(NotMeasured):
    """A check that applies to the loader saw no sample, no batch or no answer of it."""


class EmptyEpoch(NothingSeen):
    """An epoch of the loader ended before its first batch: no other check could see more."""

    def __init__(self, reason: str = "the loader gave no batch: its epoch is empty") -> None:
        super().__init__(reason)


class DataLoaderWarning(UserWarning):
    """A check could not reach a verdict: the machine was too busy to say."""
