"""What a repository says of itself: the torch it is for, what is run, what is a test."""
