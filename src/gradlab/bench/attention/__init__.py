"""Attention: within a training step and by itself, by the length of a text."""
