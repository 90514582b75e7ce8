"""Variational autoencoders beside the usual loop."""
