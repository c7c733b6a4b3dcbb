"""A script that only imports."""

import kit

print(kit.LOADER)
