from dl_lint.models import *

def read_csv(*args) -> Reads | Table: ...

class core:
    class frame:
        @by_name
        class DataFrame:
            def iterrows(self) -> Lists: ...
            def itertuples(self) -> Lists: ...
    class series:
        @by_name
        class Series:
            def tolist(self) -> Lists: ...
