class Shuffle:
    def before(self, epoch, loader):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
