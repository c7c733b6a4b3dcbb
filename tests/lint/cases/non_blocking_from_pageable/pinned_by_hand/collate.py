def collate(samples):
    return [sample.pin_memory() for sample in samples]
