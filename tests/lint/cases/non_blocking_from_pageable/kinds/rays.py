from data import Rays


def go_over(model, poses, device):
    for batch in Rays(poses, "cuda").loader():
        model(batch["poses"].to(device, non_blocking=True))
