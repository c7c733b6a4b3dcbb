"""One file as it is read: its text, the nodes of ``ast``, its comments; nothing above reads Python itself."""
