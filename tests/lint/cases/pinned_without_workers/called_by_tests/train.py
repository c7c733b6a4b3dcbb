from data import builder, make_small_loader


def train(model, dataset, args):
    for images in builder(args.kind)(dataset, args.workers):
        model(images.cuda())


def train_a_little(model, dataset):
    for images in make_small_loader(dataset):
        model(images.cuda())
