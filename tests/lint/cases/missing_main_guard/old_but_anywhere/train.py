from torch.utils.data import DataLoader

loader = DataLoader(range(10), num_workers=2)
for epoch in range(3):
    batches = iter(loader)  # expect advice
    for _ in range(len(loader)):
        print(batches.next())
