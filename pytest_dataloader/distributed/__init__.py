"""Runs of several processes: the ranks of a torchrun job and what they say together, the workers of pytest-xdist."""
