"""A run: files found and read, rules applied, findings accepted, and all of it kept for the next."""
