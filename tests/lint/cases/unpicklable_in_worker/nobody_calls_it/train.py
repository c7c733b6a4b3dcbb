from helpers import Trainer, batches, batches_by_another_name as by_another


def train(model, dataset):
    for batch in batches(dataset):
        model(batch)
    for batch in by_another(dataset):
        model(batch)
    return Trainer()


if __name__ == "__main__":
    train(print, list(range(10)))
