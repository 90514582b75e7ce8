"""Networks of pictures: speed beside the usual loop, and what recipes reach."""
