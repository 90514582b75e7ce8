"""Samples of a diffusion network: how fast beside a pipeline of diffusers, and how good."""
