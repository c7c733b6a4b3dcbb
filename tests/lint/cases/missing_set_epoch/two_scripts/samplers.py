from torch.utils.data import DistributedSampler


class Weighted(DistributedSampler):
    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        self.weights = None
