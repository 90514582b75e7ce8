"""Attention with weights that a softmax or a kernel gives."""
