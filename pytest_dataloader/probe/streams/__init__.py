"""What can be measured of batches alone, whoever makes them."""
