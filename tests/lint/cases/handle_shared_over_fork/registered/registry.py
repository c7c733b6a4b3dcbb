class Registry:
    def __init__(self, name):
        self.name = name
        self.found = {}

    def register(self, name=None):
        def decorate(kind):
            self.found[name or kind.__name__] = kind
            return kind

        return decorate

    def get(self, name):
        return self.found[name]


def build_from(settings, registry):
    settings = dict(settings)
    return registry.get(settings.pop("type"))(**settings)


DATASETS = Registry("dataset")
PREVIEWS = Registry("preview")
