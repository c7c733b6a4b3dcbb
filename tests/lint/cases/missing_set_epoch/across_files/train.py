from data import load


def main(model, optimizer, dataset, epochs):
    loader, _ = load(dataset, 8, 0)
    for epoch in range(epochs):
        for local_step, batch in enumerate(loader):
            loss = model(batch)
            loss.backward()
            optimizer.step()
