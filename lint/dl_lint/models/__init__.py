"""What stubs of libraries say beyond types: the words that they annotate with, for a linter of data pipelines.

A stub is a file of Python's own stub syntax, named after its module. What a function or method gives stands in its
return annotation (several things joined by ``|``), what a class is among its bases. A name in brackets is a parameter.
Only names imported from this module count; any other annotation is passed over.
"""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T")


class _Word:
    """Marks are read, and never run."""

    def __class_getitem__(cls, _of: object) -> type[Any]:
        return cls


# --- memory: what a function or method makes of a tensor or an array ------------------------


class View(_Word):
    """Shares the memory of what is named."""


class Fresh(_Word):
    """New memory where that of what is named lies, computed from its values."""


class New(_Word):
    """New memory that depends on no values: on the host where nothing is named, else where that lies."""


class Cast(_Word):
    """What is named, or where it is of another dtype new memory beside it."""


class Writes(_Word):
    """What is named, its values changed in place."""


class Array(_Word):
    """An array over the memory of what is named."""


class Read(_Word):
    """A number, or numbers, that the host reads from what is named: it waits for a device."""


class Metadata(_Word):
    """A fact that is known without the values: a shape, a dtype."""


class Several(_Word):
    """May be a tuple or a list of tensors, by the arguments."""


class Sized(_Word):
    """A tensor whose size depends on the values of what is given: the host waits for a device."""


class OnDevice(_Word):
    """What is named, or what it holds, copied to the accelerator."""


class Same(_Word):
    """What is named, or a part of it, as it is."""


# --- iteration -----------------------------------------------------------------------------


class Iterates(_Word):
    """An iterable of what another gives: a progress bar, or with ``Iterates[loader, OnDevice]`` a prefetcher."""


class Enumerates(_Word):
    """Pairs of a number and what is named gives."""


class Zips(_Word):
    """Tuples of what all that are named give."""


class Chains(_Word):
    """One after the other of what is named."""


class Cycles(_Word):
    """What is named over and over."""


class Slices(_Word):
    """A part of what is named."""


class Iterator(_Word):
    """An iterator over what is named."""


class Prepared(_Word):
    """What is named; of loaders, ones that shard their samples and move their batches to the device."""


# --- loaders, datasets, samplers: bases -----------------------------------------------------


class Loader(_Word):
    """A loader of batches with the arguments of ``__init__``; ``TorchLoader`` if these are torch's."""


class TorchLoader(Loader):
    """A loader with torch's own arguments and its checks of them."""


class Sampler(_Word):
    """A sampler."""


class MapDataset(_Word):
    """A dataset that is indexed."""


class WrapsDatasets(_Word):
    """A dataset made of the datasets that it is given."""


class IterableDataset(_Word):
    """A dataset that is iterated."""


class InMemory(_Word):
    """A dataset whose samples are small and in memory."""


class Composes(_Word):
    """What calls each of the functions that it is given a list of."""


# --- files ---------------------------------------------------------------------------------


class Reads(_Word):
    """What an opened, read or decoded file holds."""


class Lists(_Word):
    """As many Python objects as the data has files, lines or records."""


class ListsFiles(_Word):
    """An attribute: a list of what a method of this name lists, and of numbers beside each of these."""


class Record(_Word):
    """Some of the Python objects that an object holds, looked up: of a method or an attribute."""


class Parses(_Word):
    """Python objects parsed from a file of JSON or the like."""


class Table(_Word):
    """A pandas table, in whose text columns each cell is a Python object."""


class TextArray(_Word):
    """An array of the lines of a text file."""


class Opens(_Word):
    """A handle with a position or a lock of its own, which forked processes share: ``Opens["an HDF5 file"]``."""


class Database(_Word):
    """An opened file of many records, whose number it knows."""


class Parts(_Word):
    """An opened file whose items are parts of it, read on demand."""


class Unpicklable(_Word):
    """Something that cannot be pickled or unpickled: ``Unpicklable["a lock"]``."""


class Unpickles(_Word):
    """Whatever Python objects a file holds."""


class HubDataset(_Word):
    """A dataset of Hugging Face's, or several by their names."""


# --- settings ------------------------------------------------------------------------------


class OptionParser(_Word):
    """A parser of command-line options, with argparse's methods."""


class Settings(_Word):
    """An object whose fields are settings, by attribute or by item."""


class DefaultSettings(Settings):
    """Settings that a file which the user names replaces."""


class SettingsFile(_Word):
    """What a file of settings, or of something else, holds."""


class Merged(_Word):
    """Settings laid over one another."""


class CpuCount(_Word):
    """The number of CPUs of the host."""


class Environment(_Word):
    """A variable of the environment, or the default that is passed."""


class Accelerated(_Word):
    """Whether an accelerator is used."""


class Weights(_Word):
    """A model's weights."""


# --- random numbers and training -------------------------------------------------------------


class Draws(_Word):
    """Something drawn at random, another one each time."""


class Seeds(_Word):
    """Seeds the generators that are named, by ``seed``: ``Seeds["torch", "numpy"]``."""


class EpochLoop(_Word):
    """Goes over loaders again and again: those that its constructor or one of its methods takes as ``Trains`` and
    ``Evaluates`` parameters, or that the methods of its class with such annotations return."""


class SetsEpoch(_Word):
    """A trainer that calls ``set_epoch`` of samplers."""


class Trains(_Word):
    """A loader that is trained on in every epoch: of a parameter, or of what a method returns."""


class Evaluates(_Word):
    """A loader that is evaluated on in every epoch."""


class Takes(_Word):
    """A loader that is gone over once, where somebody asks for it: of a parameter, or of what a method returns."""


class Epochs(_Word):
    """A parameter: how often a trainer goes over its loaders."""


class Uncounted(_Word):
    """A parameter with which the number of epochs is not known: of steps, of hours."""


class Trial(_Word):
    """A parameter with which a trainer takes a few batches only."""


class Rhythm(_Word):
    """A parameter that lets a trainer evaluate in another rhythm than once an epoch."""


class Steps(_Word):
    """A parameter: a function that takes a batch; the trainer trains where that has a backward pass."""


class Backward(_Word):
    """Has a backward pass: a loop around it trains."""


class TrainingBatch(_Word):
    """A parameter of a method that a trainer calls for every batch: what it trains on, which is on the device."""


class Collective(_Word):
    """Has processes exchange what they hold on their devices: a device has that to do, and waits for the others."""


class Usual(_Word):
    """An attribute that is true in nearly every training step."""


class EachBatch(_Word):
    """A method that is called for every batch."""


def by_name(cls: type[_T]) -> type[_T]:
    """The methods of this class count by their names alone, whatever they are called on."""
    return cls
