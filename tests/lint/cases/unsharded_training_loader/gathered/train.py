"""Each process trains on what it has gathered itself, and on a data set that all have."""

from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def make_loader(rows):
    return DataLoader(Rows(rows), batch_size=8, shuffle=True)


class Player:
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def learn(self, memories):
        for batch in make_loader(list(memories)):
            self.accelerator.backward(self.model(batch).mean())
            self.optimizer.step()

    def play(self, game, rounds):
        memories = []
        for _ in range(rounds):
            memories.append(game.step(self.model))
            self.learn(memories)

    def warm_up(self, rows):
        for batch in DataLoader(Rows(rows), batch_size=8, shuffle=True):  # expect
            self.accelerator.backward(self.model(batch).mean())
            self.optimizer.step()
