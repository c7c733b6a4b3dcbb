"""The machine and its processes: clocks, children, threads, descriptors, how busy it is. Uses no other room."""
