"""Knows nothing of torch."""


def forever(items):
    iterator = items.__iter__()
    while True:
        try:
            yield iterator.__next__()
        except StopIteration:
            iterator = items.__iter__()
