"""What a device waits for: read off a trace of ``torch.profiler``."""
