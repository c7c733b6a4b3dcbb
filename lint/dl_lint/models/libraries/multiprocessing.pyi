from dl_lint.models import *

def cpu_count() -> CpuCount: ...
pool = multiprocessing
