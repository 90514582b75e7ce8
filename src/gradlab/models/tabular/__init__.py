"""Models that act by a table of values, for environments with numbered states: each learns without gradients."""

from gradlab.models.tabular.monte_carlo import MonteCarlo
from gradlab.models.tabular.planning import Planner, PolicyIteration, ValueIteration
from gradlab.models.tabular.table import Learner, ValueTable
from gradlab.models.tabular.temporal_difference import QLearning, Sarsa, TemporalDifference

__all__ = [
    "Learner",
    "MonteCarlo",
    "Planner",
    "PolicyIteration",
    "QLearning",
    "Sarsa",
    "TemporalDifference",
    "ValueIteration",
    "ValueTable",
]
