"""A user's loader: borrowed and left as it was, its settings, how it samples, and what its dataset refers to."""
