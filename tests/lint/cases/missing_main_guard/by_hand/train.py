"""Trains, and shows the loss at the end."""

import matplotlib.pyplot as plt
from torch.utils.data import DataLoader

losses = []
for batch in DataLoader(range(1000), num_workers=2):  # expect
    losses.append(batch.sum().item())
plt.plot(losses)
plt.show()
