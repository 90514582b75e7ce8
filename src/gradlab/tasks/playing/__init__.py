"""Tasks that act in environments, and learn from what comes of it."""

from gradlab.tasks.playing.a2c import A2C
from gradlab.tasks.playing.dqn import DQN
from gradlab.tasks.playing.play import Play
from gradlab.tasks.playing.ppo import PPO
from gradlab.tasks.playing.reinforce import Reinforce
from gradlab.tasks.playing.sac import SAC
from gradlab.tasks.playing.tabular import Planning, TemporalDifferences, WholeEpisodes

__all__ = ["A2C", "DQN", "PPO", "Planning", "Play", "Reinforce", "SAC", "TemporalDifferences", "WholeEpisodes"]
