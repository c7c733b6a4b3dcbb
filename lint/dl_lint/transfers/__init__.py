"""Copies between host and device, and what waits for them."""
