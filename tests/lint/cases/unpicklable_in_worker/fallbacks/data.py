"""What is made only where nothing is passed goes to the workers of those who pass nothing."""

from torch.utils.data import Dataset


class Reader:
    def __init__(self, name, decode=None):
        self.name = name
        self.decode = decode

    def __call__(self, path):
        return open(path / self.name(1), "rb").read()


class Samples(Dataset):
    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Passed(Samples):
    """All pass a reader, so the name goes nowhere; the place is asked while the object is made, and not kept."""

    def __init__(self, rows, reader=None, place=lambda root: root / "clips", name=lambda x: f"{x:05d}.jpg"):
        self.rows = [place(row) for row in rows]
        if reader is None:
            self.reader = Reader(name)
        else:
            self.reader = reader


class PassedToBase(Passed):
    pass


class Lacking(Samples):
    """One of two passes no reader."""

    def __init__(self, rows, reader=None, name=lambda x: f"{x:05d}.jpg"):  # expect
        self.rows = rows
        if reader is None:
            self.reader = Reader(name)
        else:
            self.reader = reader


class Otherwise(Samples):
    """Also passed, and asked in other ways."""

    def __init__(self, rows, one=None, two=None, three=None, four=None, five=None):
        self.rows = rows
        self.one = one if one is not None else lambda row: row
        self.two = two or (lambda row: row)
        if three is None:
            three = lambda row: row  # noqa: E731
        self.three = three
        if not four:
            self.four = lambda row: row
        if five is not None:
            self.five = five
        else:
            self.five = lambda row: row


class OtherwiseLacking(Samples):
    def __init__(self, rows, one=None, two=None, three=None, four=None, five=None):
        self.rows = rows
        self.one = one if one is not None else lambda row: row  # expect
        self.two = two or (lambda row: row)  # expect
        if three is None:
            three = lambda row: row  # noqa: E731 # expect
        self.three = three
        if not four:
            self.four = lambda row: row  # expect
        if five is not None:
            self.five = five
        else:
            self.five = lambda row: row  # expect


class Unsaid(Samples):
    """What is passed is not known: a function, most likely."""

    def __init__(self, rows, read=None):
        self.rows = rows
        self.read = read
        if read is None:
            self.read = lambda row: row


class Flagged(Samples):
    """Nobody asks for it; and what does not hang on a parameter may be either way."""

    def __init__(self, rows, scaled=False, cached=True):
        self.rows = rows
        if scaled:
            self.scale = lambda row: row * 2
        if cached:
            self.cache = lambda row: row  # expect
        if rows.index is None:
            self.index = lambda row: 0
        if find() is None:
            self.find = lambda row: 0  # expect


class Optional(Samples):
    """Held back where the option is None, which is its default."""

    def __init__(self, rows, read=None):
        self.rows = rows
        self.read = read
        if read is None:
            self.read = lambda row: row  # expect


def find():
    return FOUND.get("index")


FOUND = {}
