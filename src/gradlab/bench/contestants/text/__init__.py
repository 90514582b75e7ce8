"""Ways to train a language model on windows of a text."""
