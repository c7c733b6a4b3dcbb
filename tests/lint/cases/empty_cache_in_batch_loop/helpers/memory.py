import gc

import torch


def release():
    gc.collect()
    torch.cuda.empty_cache()  # expect


def release_now_and_then(step):
    if step % 100:
        return
    torch.cuda.empty_cache()


def release_after_epoch():
    torch.cuda.empty_cache()
