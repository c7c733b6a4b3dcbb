"""A run as one page of HTML that needs no network: what is shown of evidence, its charts, and the file."""
