"""How many samples the training parts of public data sets have, and which of them a text names."""

from __future__ import annotations

import re

LARGE = {
    "aishell": 120_000,
    "argoverse": 205_000,
    "audioset": 2_000_000,
    "cc12m": 12_000_000,
    "cc3m": 3_000_000,
    "coco": 118_000,
    "commonvoice": 1_000_000,
    "conceptualcaption": 3_000_000,
    "criteo": 45_000_000,
    "gigaspeech": 8_000_000,
    "howto100m": 1_200_000,
    "imagenet": 1_281_000,
    "inaturalist": 500_000,
    "kinetics": 240_000,
    "laion": 400_000_000,
    "librispeech": 28_500,
    "libritts": 33_200,
    "lvis": 100_170,
    "mjsynth": 7_000_000,
    "msmarco": 500_000,
    "objects365": 600_000,
    "openimages": 1_700_000,
    "places365": 1_800_000,
    "pcqm4m": 3_400_000,
    "publaynet": 335_000,
    "somethingsomething": 169_000,
    "synthtext": 800_000,
    "train2014": 82_000,
    "train2017": 118_000,
    "vggsound": 183_000,
    "visualgenome": 108_000,
    "voxceleb": 148_000,
    "vqav2": 443_000,
    "webvid": 2_500_000,
    "yfcc": 14_000_000,
}
"""Images, clips, utterances, questions or molecules of large ones, rounded down: their least edition where there are
several."""

SMALL = frozenset(
    {"ade20k", "camvid", "cifar", "cityscapes", "crowdpose", "cub200", "cubcaption", "div2k", "dukemtmc", "esc50",
     "ffhq", "flickr30k", "flickr8k", "food101", "hmdb51", "imagenetlt", "kitti", "ljspeech", "market1501", "mnist",
     "modelnet", "mpii", "msmt17", "nocaps", "nuscenes", "pascalvoc", "shapenet", "speechcommands", "svhn", "timit",
     "ucf101", "urbansound8k", "vctk", "vimeo90k", "youtubevos"}
)  # fmt: skip
"""Smaller ones, of which no edition has 160,000 samples: images, persons, captions, clips, frames, point clouds or
utterances, as their own pages tell."""

_LARGE = re.compile(
    r"(?<![a-z])(?<!mini[ _-])(?<!tiny[ _-])(?<!small[ _-])(?<!sub[ _-])(?:ms)?"
    rf"(?P<name>{'|'.join(LARGE)})"
    r"(?!\.\w|\d{0,4}[ _./-]?(?:api|class|collate|eval|format|id|json|labels?|lt(?![a-z])|mean|mini|norm|pretrain|"
    r"sketch|std|statistic|style|tools|test|transform|url|val|weights|100\b|[aro]\b)|[ -]?(?:derived|based|mix)|"
    r"(?<=imagenet)(?:[ _-]?v2|[ _-](?:64[ _-])?c(?![a-z]))|[\w./-]*/(?:val|valid|validation|test)\b)",
    re.IGNORECASE | re.ASCII,
)
_JOINED = re.compile(
    r"(?<=conceptual)[ _-](?=caption)|(?<=visual)[ _-](?=genome)|(?<=common)[ _-](?=voice)|(?<=something)[ _-](?=some)"
    r"|(?<=open)[ _-](?=images)|(?<=ms)[ _-](?=marco|coco)|(?<=libri)[ _-](?=speech|tts)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"(?:\b(?:like|similar to|such as|e\.g\.|pre-?train\w*(?: on| with)?|trained (?:on|with)"
    r"|weights (?:of|from)|(?:mean|statistics) of|normali[sz]\w* (?:with|by|for|of)|classes of)\W+(?:the\W+)?"
    r"|(?:pretrained|use|with|without|no)[ _-])$",
    re.IGNORECASE,
)
"""What comes before a name that is mentioned in passing only."""


def large(text: str) -> int:
    """The samples of the largest large set that a text names as the one it is about; 0 if it names none."""
    whole = _JOINED.sub("", text)
    found = (
        one for one in _LARGE.finditer(whole) if not _PASSING.search(whole[max(one.start() - 40, 0) : one.start()])
    )
    return max((LARGE[one["name"].lower()] for one in found), default=0)


def is_small(name: str) -> bool:
    """Whether a name has that of a small set in it."""
    bare = name.lower().replace("_", "")
    return any(one in bare for one in SMALL)
