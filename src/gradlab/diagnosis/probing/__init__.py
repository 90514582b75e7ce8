"""Probes: short extra runs on copies, after the training, where watching alone cannot tell."""

from gradlab.diagnosis.probing.probes import probe

__all__ = ["probe"]
