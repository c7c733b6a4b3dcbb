"""A script with a guard, and one loader without workers before it."""

from data import make_loader


def main():
    for batch in make_loader():
        print(batch)


def small():
    for batch in make_loader(workers=0):
        print(batch)


small()

if __name__ == "__main__":
    main()
