"""What of the data loading in a tree could be followed, and where the rest was lost."""
