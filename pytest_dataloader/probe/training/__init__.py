"""A training as it runs: the loaders that it iterates, what it waits for, and what its workers take."""
