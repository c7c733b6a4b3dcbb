from data import make_loader


def test_batches(dataset):
    for images in make_loader(dataset, 0):
        assert images.cuda().shape
