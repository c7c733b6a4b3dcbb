import data
from data import Kept, Rows as Lines, Rows


def convert(path, write):
    for row in Rows(path):
        write(row)
    for row in Kept(path):
        write(row)


def fit(path, trainer):
    trainer.fit(data.Kept(path))
