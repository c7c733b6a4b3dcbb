"""Shows one batch after the other to whoever ran it."""

import matplotlib.pyplot as plt
from torch.utils.data import DataLoader

loader = DataLoader(range(1000), batch_size=10, num_workers=2)
for batch in loader:  # expect advice
    plt.plot(batch)
    plt.show()
