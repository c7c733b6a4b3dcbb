import torch
from torch.utils.data import DataLoader


def comprehension(model, dataset, names):
    found = []
    with torch.no_grad():
        for images in DataLoader(dataset, batch_size=64):
            labels = model(images.cuda())
            found.extend([names[int(one.item())] for one in labels.flatten()])  # expect
    return found


def loop(model, dataset):
    right = 0
    for images, labels in DataLoader(dataset):
        scores = model(images.cuda()).softmax(dim=1)
        for row, label in zip(scores, labels):
            right += row.argmax().item() == int(label)  # expect
    return right


def by_position(model, dataset):
    found = []
    for images, _ in DataLoader(dataset):
        classes = model(images.cuda()).argmax(dim=1)
        for i in range(classes.shape[0]):
            found.append(classes[i].item())  # expect
    return found


def numbered(model, dataset, writer):
    for images, _ in DataLoader(dataset):
        means = torch.mean(model(images.cuda()), dim=0)
        for i, one in enumerate(means):
            writer.add_scalar(f"mean/{i}", one.cpu().numpy())  # expect


def of_a_part(dataset, lengths):
    for _, counts in DataLoader(dataset):
        counts = counts.cuda()
        for count in counts:
            lengths.append(int(count))  # expect
            lengths.append(count.item())


def index_of_a_list(model, dataset, names):
    found = []
    for images in DataLoader(dataset):
        best = torch.argmax(model(images.cuda()), dim=1)
        for one in best:
            found.append(names[one.item()])  # expect
    return found


def masked(model, dataset, kept):
    for images in DataLoader(dataset):
        scores = model(images.cuda())
        for one in scores[scores > 0.5]:
            kept.append(one.item())  # expect


def in_a_function(model, dataset, names):
    found = []
    for images in DataLoader(dataset):
        found += to_words(model(images.cuda()).argmax(1), names)
    return found


def to_words(labels, names):
    found = []
    for one in labels:
        found.append(names[one.item()])  # expect
    return found


class Retrieval(torch.nn.Module):
    def forward(self, images, texts):
        weights = (images.cuda() @ texts.cuda().t()).softmax(dim=1)
        return self.negatives(images, weights)

    def negatives(self, images, weights):
        found = []
        for i in range(images.size(0)):
            drawn = torch.multinomial(weights[i], 1).item()  # expect
            found.append(images[drawn])
        return torch.stack(found)


# --- clean -----------------------------------------------------------------------------------


def read_at_once(model, dataset, names):
    found = []
    for images in DataLoader(dataset):
        labels = model(images.cuda()).argmax(dim=1)
        found.extend(names[one] for one in labels.tolist())
    return found


def on_the_host(model, dataset):
    found = []
    for images in DataLoader(dataset):
        labels = model(images.cuda()).argmax(dim=1).cpu()
        for one in labels:
            found.append(one.item())
    return found


def as_an_array(model, dataset):
    found = []
    for images in DataLoader(dataset):
        for one in model(images.cuda()).argmax(dim=1).cpu().numpy():
            found.append(one.item())
    return found


def list_of_tensors(models, dataset):
    found = []
    for images in DataLoader(dataset):
        images = images.cuda()
        losses = [model(images).mean() for model in models]
        for loss in losses:
            found.append(loss.item())
    return found


def losses_by_name(model, dataset):
    for images in DataLoader(dataset):
        losses = model(images.cuda())
        for name, loss in losses.items():
            print(name, loss.item())


def tuple_of_tensors(model, dataset):
    for images in DataLoader(dataset):
        first, second = model(images.cuda()).chunk(2)
        for one in (first.sum(), second.sum()):
            print(one.item())


def split_into_parts(model, dataset):
    found = []
    for images in DataLoader(dataset):
        for part in model(images.cuda()).split(16):
            found.append(part.cpu())
    return found


def values_and_indices(model, dataset):
    for images in DataLoader(dataset):
        for one in model(images.cuda()).topk(5):
            print(one.cpu())


def what_a_model_gives(model, dataset):
    found = []
    for images in DataLoader(dataset):
        for one in model(images.cuda()):
            found.append(one["boxes"].cpu())
    return found


def weights(model):
    return [weight.norm().item() for weight in model.parameters()]


def two_of_them(model, dataset):
    for images in DataLoader(dataset):
        means = torch.mean(model(images.cuda()), dim=0)
        for i in range(2):
            print(means[i].item())


def not_read(model, dataset):
    total = 0
    for images in DataLoader(dataset):
        for row in model(images.cuda()).softmax(dim=1):
            total += row.max()
    return total.item()


def tensors_of_the_host(dataset):
    found = []
    for _, labels in DataLoader(dataset):
        for one in labels:
            found.append(one.item())
    return found


def read_for_another_reason(model, dataset):
    for images in DataLoader(dataset):
        scores = model(images.cuda()).mean(dim=1)
        for one in scores:
            one.mul_(2)
        print(scores.sum().item())


def computed_in_the_loop(policy, dataset, steps):
    for images in DataLoader(dataset):
        images = images.cuda()
        actions = torch.zeros(steps, 4).cuda()
        for t in range(steps):
            actions[t] = policy(images)
            print(actions[t].tolist())


def made_in_the_loop(images, dataset, count):
    for images in DataLoader(dataset):
        images = images.cuda()
        for i in range(count):
            drawn = torch.multinomial(images, 4)
            print(drawn[i].item())


def only_some(model, dataset, limit):
    for images in DataLoader(dataset):
        labels = model(images.cuda()).argmax(dim=1)
        for i, one in enumerate(labels):
            if i < limit:
                print(one.item())


def on_the_host_where_there_is_a_device(model, dataset, gpus):
    for images in DataLoader(dataset):
        labels = model(images.cuda()).argmax(dim=1)
        if gpus:
            labels = labels.cpu()
        for i in range(labels.shape[0]):
            print(labels[i].item())


def in_the_way_without_a_device(vectors, threshold):
    vectors = vectors.cuda()
    for start in range(0, len(vectors), 64):
        scores = vectors[start : start + 64] @ vectors.T
        if vectors.device.type in ["cuda", "npu"]:
            continue
        for i in range(len(scores)):
            print(scores[i].tolist())


def once(model, images):
    for one in model(images.cuda()).argmax(dim=1):
        print(one.item())
