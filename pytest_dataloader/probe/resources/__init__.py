"""Descriptors and shared memory: how many are open, what leaks, who holds it, and what a loader will need."""
