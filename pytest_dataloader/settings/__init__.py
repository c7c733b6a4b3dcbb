"""What users set: limits, options of pytest, targets in pyproject.toml, and the schema of all of them."""
