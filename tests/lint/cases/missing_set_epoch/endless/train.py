from forever import forever
from torch.utils.data import DataLoader, DistributedSampler


def main(dataset, held_out, model, optimizer, steps):
    sampler = DistributedSampler(dataset)  # expect
    batches = forever(DataLoader(dataset, sampler=sampler))
    examples = forever(DataLoader(held_out, sampler=DistributedSampler(held_out, shuffle=False)))

    def train():
        model(next(batches)).backward()
        optimizer.step()

    for step in range(steps):
        train()
        if step % 100 == 0:
            print(model(next(examples)))
