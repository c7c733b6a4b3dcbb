"""Evidence and verdicts as text, JSON, HTML, Markdown and traces; pure, but for writing."""
