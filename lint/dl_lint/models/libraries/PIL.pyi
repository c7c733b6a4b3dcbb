from dl_lint.models import *

class Image:
    def open(*args) -> Reads: ...
