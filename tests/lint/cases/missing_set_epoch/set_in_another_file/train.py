from loaders import make_loader


def train(model, rank, world_size, epochs):
    loader = make_loader(rank, world_size)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()
