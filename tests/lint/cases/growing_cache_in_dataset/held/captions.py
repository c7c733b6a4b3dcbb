"""A processor that parses captions when they are first asked for."""

import json
import pickle


class CaptionProcessor:
    def __init__(self, path):
        with open(path, "rb") as stream:
            self.data = pickle.load(stream)

    def __call__(self, video):
        caption = self.data[video]
        if isinstance(caption, str):
            caption = json.loads(caption)
            self.data[video] = caption  # expect
        return caption


class Tokenizer:
    """Not held by a dataset."""

    def __init__(self):
        self.cache = {}

    def __call__(self, word):
        if word not in self.cache:
            self.cache[word] = word.lower().split()
        return self.cache[word]
