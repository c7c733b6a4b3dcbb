from dl_lint.models import *

class futures:
    def ThreadPoolExecutor(*args) -> Unpicklable["a pool of threads"]: ...
