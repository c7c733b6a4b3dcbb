import argparse
import os

import data
from coco.persons import Persons
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--boxes", default="data/coco/annotations/instances_train2017.json")
parser.add_argument("--data", default="imagenet")
parser.add_argument("--kind", default="images")
parser.add_argument("--index")
args = parser.parse_args()


def dataset(root):
    if args.data == "imagenet":
        return data.ForAnOption(root)
    return data.ForAnotherOption(root)


def loaders(root, effects, workers):
    for one in (data.Records(args.boxes), data.OtherRecords(root), dataset(root), Persons(root)):
        yield DataLoader(one, num_workers=workers)
    yield DataLoader(data.AnyOfSeveral(root), num_workers=workers)
    yield DataLoader(data.MiniImageNetBoxes(root), num_workers=workers)
    yield DataLoader(data.SyntheticCocoBoxes(root), num_workers=workers)
    yield DataLoader(data.VisualGenomeBoxes(root), num_workers=workers)
    yield DataLoader(data.ImageNetPaths(root), num_workers=workers)
    yield DataLoader(data.ImageNetIndex(root, args.index), num_workers=workers)
    yield DataLoader(data.ImageNetNumbers(os.path.join(root, "numbers")), num_workers=workers)
    yield DataLoader(data.ImageNetRepeated(root, effects, ()), num_workers=workers)
    yield DataLoader(data.ImageNetOrPairs(root, args.kind), num_workers=workers)
    yield DataLoader(data.Conversations(root), num_workers=workers)
    yield DataLoader(data.ImageNetV2(root), num_workers=workers)
    for one in (data.HeldBack(), data.Distorted(), data.LearntFrom()):
        yield DataLoader(one, num_workers=workers)
