"""Put into random order once, before it is loaded."""

from datasets import load_dataset
from torch.utils.data import DataLoader


def fit(model, optimizer, collate):
    rows = load_dataset("imdb", split="train").shuffle(seed=1)
    loader = DataLoader(rows, batch_size=8, collate_fn=collate)
    for epoch in range(3):
        for batch in loader:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
