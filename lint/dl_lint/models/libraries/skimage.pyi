from dl_lint.models import *

class io:
    def imread(*args) -> Reads: ...
