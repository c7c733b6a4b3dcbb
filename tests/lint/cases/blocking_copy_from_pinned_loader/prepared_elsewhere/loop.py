def train(model, loader, device):
    for images, labels in loader:
        model(images.to(device), labels.to(device))
