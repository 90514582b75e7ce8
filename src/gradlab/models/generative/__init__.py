"""Models that examples are drawn from."""
