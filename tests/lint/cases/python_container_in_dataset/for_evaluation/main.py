import sys

from data import KINDS, Base, Either, EvalTwice, Ranking, SharedFit, SharedVal
from torch.utils.data import DataLoader


def sets(paths):
    val = Ranking(paths["val_file"], split="val")
    test_set = Ranking(paths["test_file"], split="test")
    train_set, valid_set = EvalTwice(paths["a"]), EvalTwice(paths["b"])
    one = Either(paths["c"])
    test = Either(paths["d"])
    return [val, test_set, train_set, valid_set, one, test, SharedVal(paths["e"]), SharedFit(paths["f"])]


def main(paths, kind):
    for data in (*sets(paths), KINDS[kind](paths["g"]), Base(paths["h"])):
        for batch in DataLoader(data, num_workers=4):
            print(batch)


if __name__ == "__main__":
    main({}, sys.argv[1])
