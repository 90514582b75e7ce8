"""Pictures with captions: coloured shapes that are drawn on the spot, and pictures of one's own."""
