from .records import (
    Unwanted,
    Wanted,
)
from .records import Uttered as Spoken
