"""Tasks that act in environments, and learn from what comes of it."""

from gradlab.tasks.playing.play import Play
from gradlab.tasks.playing.ppo import PPO

__all__ = ["PPO", "Play"]
