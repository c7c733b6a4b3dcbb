"""Which samples are read: by which worker and rank, in which order, from which random states, after a resume."""
