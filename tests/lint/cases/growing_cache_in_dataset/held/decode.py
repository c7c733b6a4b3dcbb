"""Decoding a clip; fills in what it learns about the file."""


def decode(container, frames, meta=None, extra=None):
    return read(container, frames, meta), len(extra or ())


def read(container, frames, meta):
    if len(meta) == 0:
        meta["fps"] = container.fps
        meta["duration"] = container.duration
    return container.read(frames, meta["fps"])
