"""Which settings make a loader faster: predicted from one profile, then tried."""
