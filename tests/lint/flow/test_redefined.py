"""Attributes that a base stores, as objects of its subclasses have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..describe import probes

if TYPE_CHECKING:
    from ..linked import Load

PROVIDERS = """
from torch.utils.data import DataLoader

class Provider:
    def __init__(self, size):
        self.size = size
        self.train = self.build(size)
        self.valid = self.build(1)
        if self.valid is None:
            self.valid = self.train
    def build(self, n):
        return ("pinned", n)

class Masks(Provider):
    def __init__(self, masks, n):
        super().__init__(n)
    def build(self, n):
        return ("plain", n)

class Photos(Provider):
    pass
"""

TRAINERS = """
class Trainer:
    def __init__(self, provider):
        self.provider = provider
    def validate(self, over=None):
        self._validate(over or self.provider.valid)
    def _validate(self, over):
        raise NotImplementedError

class OfMasks(Trainer):
    def __init__(self, path, provider):
        super().__init__(provider=provider)
    def validate(self):
        probe(self.provider.train)
        self._validate(self.provider.valid)
    def _validate(self, over):
        probe(over)

class OfPhotos(Trainer):
    def __init__(self, provider):
        super().__init__(provider)
    def _validate(self, over):
        probe(over)

OfMasks("masks", Masks(5, 2))
OfPhotos(Photos(3))
"""


def test_a_builder_that_a_subclass_defines_anew_builds_what_its_objects_keep(load: Load) -> None:
    text = PROVIDERS + "probe(Masks(5, 2).train)\nprobe(Photos(3).train)\nprobe(Masks(5, 2).valid)\n"
    assert probes(load(text)) == [
        "tuple('plain', 2)",
        "tuple('pinned', 3)",
        "tuple('plain', 1) | tuple('plain', 2)",
    ]


def test_what_a_base_keeps_is_what_the_constructor_of_the_subclass_hands_up(load: Load) -> None:
    assert probes(load(PROVIDERS + "probe(Masks(5, 2).size)\nprobe(Photos(4).size)\n")) == ["2", "4"]


def test_any_object_of_a_class_may_be_one_of_a_subclass_with_a_builder_of_its_own(load: Load) -> None:
    text = PROVIDERS + "def f(provider: Provider):\n    probe(provider.train)\n"
    [found] = probes(load(text))
    assert "'pinned'" in found
    assert "'plain'" in found


def test_each_trainer_has_the_provider_that_it_is_given(load: Load) -> None:
    of_masks, of_valid, of_photos = probes(load(PROVIDERS + TRAINERS))
    assert of_masks == "tuple('plain', 2)"
    assert "'pinned'" not in of_valid, "the base's `validate` is not theirs"
    assert "'plain'" in of_valid
    assert "'pinned'" in of_photos


def test_attributes_that_take_each_other_over_end(load: Load) -> None:
    text = """
class A:
    def f(self):
        self.a = self.b
        self.b = self.a
class B(A):
    pass
probe(B().a)
"""
    assert len(probes(load(text))) == 1
