from torch.utils.data import DataLoader

from memory import release, release_after_epoch, release_now_and_then


def train(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(3):
        for step, batch in enumerate(loader):
            model(batch, epoch)
            release_now_and_then(step)
            release()
        release_after_epoch()
