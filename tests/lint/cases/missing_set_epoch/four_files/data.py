from torch.utils.data import Dataset


class Photos(Dataset):
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 8
