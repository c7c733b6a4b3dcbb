import argparse

from torch.utils.data import DataLoader

from defaults import Keeper, flat, get_cfg, get_copy, nested, own


def of_yacs(model, dataset, path):
    cfg = get_cfg()
    cfg.merge_from_file(path)
    for images in DataLoader(dataset, num_workers=cfg.LOADER.NUM_WORKERS, pin_memory=cfg.LOADER.PIN):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, num_workers=cfg.LOADER.NUM_WORKERS, pin_memory=get_copy().LOADER["PIN"]):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, num_workers=cfg.LOADER.NUM_WORKERS, pin_memory=cfg.EVALUATION.PIN):
        model(images.cuda()).backward()
    for images in DataLoader(dataset, num_workers=cfg.LOADER.NUM_WORKERS, pin_memory=cfg.EVALUATION.UNSET):
        model(images.cuda()).backward()


def of_a_configuration_that_comes_from_outside(model, dataset, cfg):
    for images in DataLoader(dataset, num_workers=4, pin_memory=cfg.LOADER.PIN):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, num_workers=4, pin_memory=cfg.SOMETHING.PIN):
        model(images.cuda()).backward()
    for images in DataLoader(dataset, num_workers=4, pin_memory=cfg.PIN):
        model(images.cuda()).backward()


def of_easydict(model, dataset):
    for images in DataLoader(dataset, num_workers=flat.workers, pin_memory=flat.pin):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, **nested.loader):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, num_workers=2, **nested["other"]):
        model(images.cuda()).backward()
    for images in DataLoader(dataset, num_workers=2, pin_memory=flat.changed):
        model(images.cuda()).backward()
    for images in DataLoader(dataset, num_workers=2, pin_memory=flat.unheard_of):
        model(images.cuda()).backward()


def turn_off():
    flat.changed = False


def of_a_dict_with_attributes(model, dataset):
    for images in DataLoader(dataset, **own):
        model(images.cuda()).backward()  # expect
    for images in Keeper(make=DataLoader).loader(dataset):
        model(images.cuda()).backward()


def of_a_namespace(model, dataset, **given):
    args = argparse.Namespace(pin=True, **given)
    for images in DataLoader(dataset, num_workers=2, pin_memory=args.pin):
        model(images.cuda()).backward()  # expect
    for images in DataLoader(dataset, num_workers=2, pin_memory=args.workers):
        model(images.cuda()).backward()
