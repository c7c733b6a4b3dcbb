import json

from torch.utils.data import Dataset


class Graphs(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.graphs = [graph["edges"] for graph in json.load(file)]  # expect

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, index):
        return self.graphs[index]


class Splits:
    def __init__(self, folder):
        self.train = Graphs(folder + "/train.json")
        self.test = Graphs(folder + "/test.json")
