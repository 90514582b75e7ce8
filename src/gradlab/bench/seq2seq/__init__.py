"""Models of pairs: speed beside the usual loop, and what they reach by the length of the source."""
