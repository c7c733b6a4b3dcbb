import json
import sys

from data import make


def look(model, options):
    for batch in make(**options):
        model(batch)


if __name__ == "__main__":
    look(print, json.load(open(sys.argv[1])))
