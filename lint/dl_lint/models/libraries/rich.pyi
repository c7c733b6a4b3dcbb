from dl_lint.models import *

class progress:
    def track(sequence, *args) -> Iterates[sequence]: ...
