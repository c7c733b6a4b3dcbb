"""dl-lint: finds the mistakes in PyTorch data pipelines by reading the code."""

__version__ = "0.1.0"
