from data import make_loader
from network import convolve

if __name__ == "__main__":
    for points in make_loader(["a", "b"]):
        convolve(points)
