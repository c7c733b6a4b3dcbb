from torch.utils.data import DataLoader

import data  # noqa: F401
from registry import DATASETS, PREVIEWS, build_from


def train(model, settings):
    dataset = build_from(settings, DATASETS)
    for rows in DataLoader(dataset, num_workers=4):
        model(rows).backward()


def look(settings, show):
    for rows in DataLoader(PREVIEWS.get("Preview")(settings["path"]), num_workers=0):
        show(rows)
    for rows in DataLoader(PREVIEWS.get("other")(settings["path"]), num_workers=0):
        show(rows)
