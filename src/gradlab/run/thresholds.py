"""A classification of a run at every threshold."""

from typing import TYPE_CHECKING

from gradlab.errors import GradlabError
from gradlab.tasks import Classify, Ranking, rankings

if TYPE_CHECKING:
    from gradlab.run.folder import Run


def rankings_of(run: "Run", split: str) -> dict[str, Ranking]:
    """By class; of two classes the positive one alone, which is the rarer."""
    if not isinstance(run.task, Classify):
        raise GradlabError(f"{run.path} is no classification: it has no threshold.")
    examples = run.examples(split)
    probabilities = run.task.class_logits(run.evaluated(examples.inputs)).double().softmax(1)
    return rankings(probabilities.numpy(), examples.targets.numpy(), run.targets)


def best_threshold(run: "Run") -> float:
    """Of two classes, the probability from which on the positive one has the best F1 on the validation split."""
    ranked = rankings_of(run, "validation")
    if len(run.targets.classes or []) != 2 or not ranked:
        raise GradlabError(
            f"{run.path} has no best threshold: only a classification of two classes, both of which are in its "
            "validation split, has one."
        )
    return next(iter(ranked.values())).best.threshold
