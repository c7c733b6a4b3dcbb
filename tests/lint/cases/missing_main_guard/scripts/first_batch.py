"""next(iter(...)) starts the workers as well."""

from data import make_loader

images = next(iter(make_loader()))  # expect
print(images)
