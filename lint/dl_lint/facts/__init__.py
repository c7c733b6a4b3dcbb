"""What one file says: its syntax as plain values, its suppressions, its tokens."""
