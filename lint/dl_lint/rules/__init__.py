"""The rules, one module each; the file name is the rule name."""
