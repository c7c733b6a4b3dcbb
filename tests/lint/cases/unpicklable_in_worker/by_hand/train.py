from torch.utils.data import DataLoader

if __name__ == "__main__":
    for batch in DataLoader(range(1000), num_workers=2, collate_fn=lambda samples: samples):  # expect
        print(batch)
