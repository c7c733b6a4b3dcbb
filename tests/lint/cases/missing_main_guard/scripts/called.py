"""A script whose whole run is one unguarded call."""

from data import make_loader


def main():
    loader = make_loader(workers=4)
    for batch in loader:
        print(batch)


main()  # expect
