"""A loader diagnosed: one check examined at a time, all of them as a report, and the command that prints it."""
