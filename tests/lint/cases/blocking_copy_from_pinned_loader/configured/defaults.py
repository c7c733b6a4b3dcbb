import copy

from easydict import EasyDict
from yacs.config import CfgNode as CN

_C = CN()
_C.LOADER = CN()
_C.LOADER.NUM_WORKERS = 8
_C.LOADER.PIN = True
_C.EVALUATION = CN()
_C.EVALUATION.PIN = False
_C.EVALUATION.UNSET = None


def get_cfg():
    return _C.clone()


def get_copy():
    return copy.deepcopy(_C)


flat = EasyDict()
flat.workers = 4
flat.pin = True
flat.changed = True
nested = EasyDict(loader=EasyDict(num_workers=2, pin_memory=True), other={"pin_memory": False})


class Settings(dict):
    def __getattr__(self, name):
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


own = Settings(num_workers=2)
own.pin_memory = True


class Keeper(dict):
    """Has a method of its own, and so is more than its items."""

    def __getattr__(self, name):
        return self[name]

    def loader(self, dataset):
        return self["make"](dataset)
