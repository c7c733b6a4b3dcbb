"""Evidence and verdicts as text, JSON, HTML and traces; pure."""
