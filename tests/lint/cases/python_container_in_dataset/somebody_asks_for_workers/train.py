from torch.utils.data import DataLoader


def train(model, splits, epochs):
    loader = DataLoader(splits.train, batch_size=32, shuffle=True)
    for _ in range(epochs):
        for batch in loader:
            model(batch)


def evaluate(model, splits, **options):
    for batch in DataLoader(splits.test, **{"num_workers": 2, **options}):
        model(batch)
