"""Which settings make a loader faster: tried."""
