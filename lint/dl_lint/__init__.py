"""dl-lint: finds the mistakes in PyTorch data pipelines by reading the code."""
