"""A job of several ranks under torchrun: how they hear each other, and what they say together."""
