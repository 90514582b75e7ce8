"""What is learned: the loss, the metrics, the baselines, and how the trained thing is used."""

from gradlab.tasks.auto import settled, wants
from gradlab.tasks.bernoulli import Bernoulli
from gradlab.tasks.calibration import calibrate, fit_temperature
from gradlab.tasks.classify import Classify
from gradlab.tasks.evaluation import compare, evaluate, predict
from gradlab.tasks.forecast import Forecast
from gradlab.tasks.generative import Density, Diffusion, Generative, Reconstruct
from gradlab.tasks.language import Language
from gradlab.tasks.margin import Margin
from gradlab.tasks.masked import MaskedLanguage
from gradlab.tasks.metrics import Metric
from gradlab.tasks.objective import Loss, Losses, Objective
from gradlab.tasks.playing import A2C, DQN, PPO, SAC, Play, Reinforce
from gradlab.tasks.poisson import Poisson
from gradlab.tasks.ranking import Ranking, rankings
from gradlab.tasks.regress import Regress
from gradlab.tasks.reliability import Reliability
from gradlab.tasks.seq2seq import Seq2Seq
from gradlab.tasks.task import Criterion, Supervised, Task, tasks

__all__ = [
    "A2C",
    "Bernoulli",
    "Classify",
    "Criterion",
    "DQN",
    "Density",
    "Diffusion",
    "Forecast",
    "Generative",
    "Language",
    "Loss",
    "Losses",
    "Margin",
    "MaskedLanguage",
    "Metric",
    "Objective",
    "PPO",
    "Play",
    "Poisson",
    "Ranking",
    "Reconstruct",
    "Regress",
    "Reinforce",
    "Reliability",
    "SAC",
    "Seq2Seq",
    "Supervised",
    "Task",
    "calibrate",
    "compare",
    "fit_temperature",
    "evaluate",
    "predict",
    "rankings",
    "settled",
    "tasks",
    "wants",
]
