import cv2
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __getitem__(self, index):
        return cv2.resize(cv2.imread(self.paths[index]), (224, 224))


def single_threaded(worker_id):
    cv2.setNumThreads(0)


def make_loader():
    return DataLoader(Photos(), num_workers=4, worker_init_fn=single_threaded)
