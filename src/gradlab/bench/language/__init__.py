"""Language models: what they predict after the same time, and at long contexts."""
