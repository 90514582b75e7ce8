"""What is learned: the loss, the metrics, the trivial baseline, and how the trained thing is used."""

from gradlab.tasks.classify import Classify
from gradlab.tasks.evaluation import evaluate, predict
from gradlab.tasks.metrics import Metric
from gradlab.tasks.regress import Regress
from gradlab.tasks.task import Task, tasks

__all__ = ["Classify", "Metric", "Regress", "Task", "evaluate", "predict", "tasks"]
