"""What data loading is: loaders and their workers, datasets and what they hold, loops, seeds, ranks."""
