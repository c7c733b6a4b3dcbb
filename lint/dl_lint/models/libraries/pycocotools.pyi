from dl_lint.models import *

class coco:
    @by_name
    class COCO(Lists):
        def getImgIds(self, *args) -> Lists: ...
