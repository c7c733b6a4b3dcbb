from dl_lint.models import *

class io:
    class wavfile:
        def read(*args) -> Reads: ...
