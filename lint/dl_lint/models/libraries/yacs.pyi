from dl_lint.models import *

class config:
    class CfgNode(DefaultSettings): ...
