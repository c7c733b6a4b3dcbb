from torch.utils.data import DataLoader


def evaluate(model, dataset):
    val_loader = DataLoader(dataset, batch_size=64, num_workers=4)
    for images, _ in val_loader:
        model(images.cuda())


def train(model, dataset, optimizer):
    train_loader = DataLoader(dataset, batch_size=64, num_workers=4, shuffle=True, pin_memory=False)  # expect
    for images, labels in train_loader:
        model(images.cuda(), labels.cuda()).backward()
        optimizer.step()
