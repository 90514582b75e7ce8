"""Minimising functions of a vector: methods, their rates and stability, and the landscapes that they walk in."""

from gradlab.maths.optimisation.minimise import argmin, minimise

__all__ = ["argmin", "minimise"]
