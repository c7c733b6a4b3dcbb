import MinkowskiEngine


def convolve(points):
    return MinkowskiEngine.MinkowskiConvolution(3, 8, dimension=3)(points)
