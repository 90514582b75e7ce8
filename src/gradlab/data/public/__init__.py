"""Public data sets: their file formats, and fetching them."""
