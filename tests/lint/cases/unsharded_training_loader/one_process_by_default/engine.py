from torch.nn.parallel import DistributedDataParallel


class Engine:
    def __init__(self, model, optimizer, processes=1):
        self.model = model
        self.optimizer = optimizer
        self.processes = processes
        if self.processes > 1:
            self.model = DistributedDataParallel(model)

    def fit(self, loader):
        for batch in loader:
            self.model(batch).mean().backward()
            self.optimizer.step()
