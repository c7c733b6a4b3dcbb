import matplotlib.pyplot as plt
from torch.utils.data import DataLoader

loader = DataLoader(range(1000), num_workers=2, collate_fn=lambda samples: samples)  # expect advice
for batch in loader:
    plt.imshow(batch)
    plt.show()
