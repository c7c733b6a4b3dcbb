"""A library's generator, which its loader gives each worker a state of its own, drawn from in an example."""

import numpy as np


class Masks:
    def __init__(self, seed=None):
        self.rng = np.random.RandomState(seed)
