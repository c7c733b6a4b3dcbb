"""What a project's configuration says of its code that the code does not say itself."""

from __future__ import annotations

from typing import NamedTuple


class Hints(NamedTuple):
    """The keys of [tool.dl-lint] that change what is known; classes are named as they are imported, or by last name."""

    dataloader_classes: tuple[str, ...] = ()
    """Classes that take torch's arguments and make its batches, whatever they derive from."""
    dataset_classes: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()
    """Variables, attributes and functions that hold or return the accelerator's device."""
    trainer_calls_set_epoch: bool = False
    start_method: str | None = None
    """How workers are started where the code does not say."""
    target_torch: tuple[int, int] | None = None
    """The oldest torch that the project runs with."""
    models: tuple[tuple[str, str], ...] = ()
    """The project's stubs of libraries: module and text."""

    @property
    def spawns(self) -> bool:
        """Whether workers are new processes where the code does not say."""
        return self.start_method in ("spawn", "forkserver")


NO_HINTS = Hints()


def names_one(wanted: tuple[str, ...], name: str) -> bool:
    """Whether a dotted name ends in one of those wanted."""
    return any(f".{name}".endswith(f".{one}") for one in wanted)
