import pytest
from torch.utils.data import DataLoader

from data import Photos


@pytest.mark.parametrize("root", ["photos"])
def test_photos(root):
    assert list(DataLoader(Photos(root), num_workers=0))
