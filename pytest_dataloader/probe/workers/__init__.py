"""Workers from start to end: how they start, whether they live, and what went wrong with one."""
