"""pytest-dataloader: measures PyTorch data pipelines inside pytest and holds them to limits."""
