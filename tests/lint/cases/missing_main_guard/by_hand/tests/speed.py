from torch.utils.data import DataLoader

for batch in DataLoader(range(1000), num_workers=2):  # expect advice
    print(batch)
