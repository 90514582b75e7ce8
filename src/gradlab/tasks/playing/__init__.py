"""Tasks that act in environments, and learn from what comes of it."""

from gradlab.tasks.playing.play import Play
from gradlab.tasks.playing.ppo import PPO
from gradlab.tasks.playing.tabular import Planning, TemporalDifferences, WholeEpisodes

__all__ = ["PPO", "Planning", "Play", "TemporalDifferences", "WholeEpisodes"]
