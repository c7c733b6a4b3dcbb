# Functions that were not tried with an array compute something of theirs.
from dl_lint.models import *

def __getattr__(name: str) -> Fresh: ...
