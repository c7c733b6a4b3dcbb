import os

os.environ["OPENCV_FOR_THREADS_NUM"] = "1"

from data import make_loader

for batch in make_loader():
    print(batch)
