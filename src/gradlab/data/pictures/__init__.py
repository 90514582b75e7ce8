"""Pictures of one's own, of any size and mode, as arrays of one shape."""
