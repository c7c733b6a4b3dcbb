"""The memory of workers: which pages they copy, what they keep, which attribute is to blame, and what it will cost."""
