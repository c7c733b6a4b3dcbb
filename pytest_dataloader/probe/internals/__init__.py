"""What is private in torch and torchdata, touched in this room alone; and the envelopes that go on its iterators."""
