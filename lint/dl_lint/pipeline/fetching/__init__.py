"""What happens while a sample is fetched: what is opened, decoded, and which errors are swallowed."""
