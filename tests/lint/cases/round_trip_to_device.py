import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def named(model, dataset):
    wanted = []
    for images, labels in DataLoader(dataset):
        labels = labels.cuda()  # expect
        wanted.append(labels.cpu())
        model(images.cuda())
    return wanted


def chained(dataset):
    return [labels.cuda().cpu().numpy() for _, labels in DataLoader(dataset)]  # expect


def next_statement(dataset):
    found = []
    for images, _ in DataLoader(dataset, num_workers=4, pin_memory=True):
        images = images.to("cuda")  # expect
        found.append(images.cpu().numpy())
    return found


def by_view(dataset):
    found = []
    for _, labels in DataLoader(dataset):
        labels = labels.cuda(non_blocking=True)  # expect
        found.extend(labels.detach().view(-1).tolist())
    return found


def seen_twice(model, dataset):
    for images, labels in DataLoader(dataset):
        images, labels = images.cuda(), labels.cuda()  # expect
        model(images)
        print(labels.shape, labels[0].item())
        print(labels.cpu().numpy())


def host(labels):
    return labels.detach().cpu().numpy()


def in_a_helper(model, dataset):
    for images, labels in DataLoader(dataset):
        labels = labels.cuda()  # expect
        print(host(labels), model(images.cuda()))


def made_on_the_host(model, dataset):
    for images, labels in DataLoader(dataset):
        weights = torch.tensor([1.0, 2.0]).cuda()  # expect
        print(weights.cpu(), model(images.cuda()))


# --- clean -----------------------------------------------------------------------------------


def computed(dataset):
    found = []
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        found.append((labels + 1).cpu())
    return found


def also_computed(model, dataset):
    for images, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu())
        model(images.cuda(), labels)


def computed_now_and_then(model, dataset):
    for step, (images, labels) in enumerate(DataLoader(dataset)):
        labels = labels.cuda()
        print(labels.cpu())
        if step % 100 == 0:
            model(images.cuda(), labels)


def rounded(dataset):
    return [labels.cuda().half().cpu() for _, labels in DataLoader(dataset)]


def compared(model, dataset):
    right = 0
    for images, labels in DataLoader(dataset):
        images, labels = images.cuda(), labels.cuda()
        right += (model(images).argmax(1) == labels).sum().item()
        print(labels.cpu())
    return right


def gathered(dataset, parts):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        dist.all_reduce(labels)
        print(labels.cpu())


def returned(dataset):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu())
        return labels


def yielded(dataset):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu())
        yield labels


def collected(dataset):
    found = []
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu())
        found.append(labels)
    return torch.cat(found)


class Kept:
    def run(self, dataset):
        for _, labels in DataLoader(dataset):
            self.labels = labels.cuda()
            print(self.labels.cpu())


def used_by_a_closure(model, dataset):
    def step():
        return model(labels)

    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu(), step())


def written_to(dataset):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        labels += 1
        print(labels.cpu())


def in_place(dataset):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        labels.clamp_(0, 1)
        print(labels.cpu())


def index(model, dataset, table):
    for images, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(table[labels], labels.cpu(), model(images.cuda()))


def used_before_it_is_made_again(model, dataset):
    labels = None
    for images, more in DataLoader(dataset):
        if labels is not None:
            model(images.cuda(), labels)
        labels = more.cuda()
        print(labels.cpu())


def used_after_the_loop(model, dataset):
    for _, labels in DataLoader(dataset):
        labels = labels.cuda()
        print(labels.cpu())
    model(labels)


def once(labels):
    labels = torch.tensor([1, 2]).cuda()
    print(labels.cpu())


def result_of_a_model(model, dataset):
    for images in DataLoader(dataset):
        print(model(images.cuda()).cuda().cpu())


def only_where_there_is_one(model, dataset, cuda):
    for images, labels in DataLoader(dataset):
        if cuda:
            labels = labels.cuda()
        print(labels.cpu().numpy(), model(images, labels))
