try:
    import MinkowskiEngine
except ImportError:
    MinkowskiEngine = None


def convolve(points):
    import torchtext.legacy

    return torchtext.legacy if MinkowskiEngine is None else MinkowskiEngine.MinkowskiConvolution(3, 8)(points)
