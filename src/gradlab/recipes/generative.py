"""Recipes of models that draw examples: of digits, of points in the plane, and of one's own pictures."""

# Linear and mixtures

# Autoencoders

# Variational autoencoders

# Adversaries

# Pixel by pixel

# Diffusion and flows
