from providers import MaskProvider, PhotoProvider


class Trainer:
    def __init__(self, provider):
        self.provider = provider

    def fit(self, epochs):
        for _ in range(epochs):
            self.epoch(self.provider.train)

    def epoch(self, loader):
        raise NotImplementedError


class PhotoTrainer(Trainer):
    def __init__(self, provider):
        super().__init__(provider)

    def epoch(self, loader):
        for images in self.provider.train:
            self.model(images.cuda())  # expect


class MaskTrainer(Trainer):
    def __init__(self, provider):
        super().__init__(provider)

    def fit(self, epochs):
        for _ in range(epochs):
            self.epoch(self.provider.train)

    def epoch(self, loader):
        for masks in loader:
            self.model(masks.cuda())


def main(photos, masks):
    PhotoTrainer(PhotoProvider(photos)).fit(10)
    MaskTrainer(MaskProvider(masks)).fit(10)
