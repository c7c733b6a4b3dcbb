from torch.utils.data import DataLoader

from padded import collate, collate_in_place, collate_pinnable, collate_tensors, collate_to_dict


def objects(model, dataset, device):
    for images, targets in DataLoader(dataset, collate_fn=collate, num_workers=4, pin_memory=True):
        images = images.to(device)
        targets = [{key: part.to(device) for key, part in one.items()} for one in targets]  # expect advice
        model(images, targets)


def objects_made_at_the_return(model, dataset, device):
    for images, targets in DataLoader(dataset, collate_fn=collate_in_place, num_workers=4, pin_memory=True):
        model(images.to(device), targets)


def of_two_functions_one_gives_dicts(model, dataset, device, tracking):
    collate_fn = collate_to_dict if tracking else collate
    for images, targets in DataLoader(dataset, collate_fn=collate_fn, num_workers=4, pin_memory=True):
        model(images.to(device), targets)


def of_two_functions_one_gives_tensors(model, dataset, device, stacked):
    collate_fn = collate_tensors if stacked else collate
    for images, targets in DataLoader(dataset, collate_fn=collate_fn, num_workers=4, pin_memory=True):
        model(images.to(device), targets)  # expect


def an_object_that_can_be_pinned(model, dataset, device):
    for images, targets in DataLoader(dataset, collate_fn=collate_pinnable, num_workers=4, pin_memory=True):
        model(images.to(device), targets)  # expect


def an_object_in_another_place(model, dataset, device):
    for images, targets in DataLoader(dataset, collate_fn=collate_tensors, num_workers=4, pin_memory=True):
        images = images.to(device)  # expect
        model(images, targets)
