"""Environments to act in: our own by name, and those of gymnasium."""

from gradlab.environments import bandit, grid, table  # noqa: F401  (each enters its name)
from gradlab.environments.environment import Environments, Step, make, registry

__all__ = ["Environments", "Step", "make", "registry"]
