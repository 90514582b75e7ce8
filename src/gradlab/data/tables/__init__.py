"""Tables of one's own: what their columns are, and how their texts become numbers."""
