from torch.utils.data import DataLoader

for batch in DataLoader(range(1000), num_workers=2):  # expect
    print(batch)


def test_a_loader():
    assert DataLoader(range(3))
