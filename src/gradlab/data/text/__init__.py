"""Text: where it is read from, how it becomes numbers, and how a model sees those."""
