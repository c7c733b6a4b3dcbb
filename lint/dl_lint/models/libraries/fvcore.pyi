from dl_lint.models import *

class common:
    class config:
        class CfgNode(DefaultSettings): ...
