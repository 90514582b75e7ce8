"""Diffusion: data that noise takes over little by little, and what is learned to go back."""

from gradlab.nn.diffusion.levels import CLEAN, Level, Reading, Target, reading
from gradlab.nn.diffusion.posterior import Posterior, posterior
from gradlab.nn.diffusion.processes import VE, VP, Chain, Flow, Process, cosine_betas, linear_betas, schedule

__all__ = [
    "CLEAN",
    "VE",
    "VP",
    "Chain",
    "Flow",
    "Level",
    "Posterior",
    "Process",
    "Reading",
    "Target",
    "cosine_betas",
    "linear_betas",
    "posterior",
    "reading",
    "schedule",
]
