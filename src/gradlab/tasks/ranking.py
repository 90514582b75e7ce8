"""Members of a class before all others? A classifier at every threshold of its probability, not at 0.5 alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gradlab.data import Targets
from gradlab.inline import InlineResult, charts, line_chart
from gradlab.markup import Html
from gradlab.wording import number

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What comes of taking examples for members whose probability is at least a threshold; NaN where that is none."""

    threshold: float
    precision: float
    recall: float
    false_alarms: float
    f1: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Ranking(InlineResult):
    """Examples from the highest score down. At each score that occurs, `hits` are the members so far, and `alarms` the
    others.

    >>> ranking = Ranking.of(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    >>> ranking.auroc, round(ranking.average_precision, 3), ranking.best.threshold
    (0.875, 0.833, 0.4)
    """

    threshold: Array
    hits: Array
    alarms: Array

    @classmethod
    def of(cls, scores: Array, members: npt.NDArray[np.bool_]) -> "Ranking":
        order = np.argsort(-scores, kind="stable")
        ordered, hits = scores[order], members[order].cumsum(dtype=np.float64)
        last = np.flatnonzero(np.diff(ordered, append=-np.inf))  # of equal scores
        return cls(threshold=ordered[last], hits=hits[last], alarms=last + 1 - hits[last])

    def _facts(self) -> list[str]:
        areas = {"AUROC": self.auroc, "average precision": self.average_precision, "best F1": self.best.f1}
        return [f"{name} {number(area)}" for name, area in areas.items()]

    def _content(self) -> list[Html]:
        rates = {"recall": (self.false_alarms.tolist(), self.recall.tolist())}
        precisions = {"precision": (self.recall.tolist(), self.precision.tolist())}
        roc = line_chart("recall over false alarms", rates, x="false alarms")
        return [charts(roc, line_chart("precision over recall", precisions, x="recall"))]

    @property
    def recall(self) -> Array:
        """The share of the members that is found; also called the true positive rate."""
        return self.hits / self.hits[-1:]

    @property
    def false_alarms(self) -> Array:
        """The share of the others that is taken for members; also called the false positive rate."""
        return self.alarms / self.alarms[-1:]

    @property
    def precision(self) -> Array:
        """How often what is taken for a member is one."""
        return self.hits / (self.hits + self.alarms)

    @property
    def f1(self) -> Array:
        r"""$2 TP / (2 TP + FP + FN)$."""
        return 2 * self.hits / (self.hits + self.alarms + self.hits[-1:])

    @property
    def share(self) -> float:
        """Of members among all: the precision of a guess."""
        return float(self.hits[-1] / (self.hits[-1] + self.alarms[-1]))

    @property
    def auroc(self) -> float:
        """The area under recall over false alarms; straight between scores, so that a tie counts half."""
        x, y = (np.concatenate([[0.0], rate]) for rate in (self.false_alarms, self.recall))
        return float(np.diff(x) @ (y[1:] + y[:-1]) / 2)

    @property
    def average_precision(self) -> float:
        r"""$\sum_k (R_k - R_{k-1}) P_k$: the precision at each score, weighted by the recall that it adds."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    @property
    def best(self) -> Outcome:
        """At the threshold with the highest F1."""
        return self._outcome(int(self.f1.argmax()))

    def at(self, threshold: float) -> Outcome:
        """At any threshold."""
        place = int((self.threshold >= threshold).sum()) - 1
        if place < 0:
            return Outcome(threshold=threshold, precision=float("nan"), recall=0.0, false_alarms=0.0, f1=0.0)
        return self._outcome(place, threshold)

    def _outcome(self, place: int, threshold: float | None = None) -> Outcome:
        return Outcome(
            threshold=float(self.threshold[place]) if threshold is None else threshold,
            precision=float(self.precision[place]),
            recall=float(self.recall[place]),
            false_alarms=float(self.false_alarms[place]),
            f1=float(self.f1[place]),
        )


def positive_class(targets: Targets) -> int:
    """Of two classes the rarer in training, which is the one that is looked for; the second where both are as many."""
    return 0 if len(targets.counts) == 2 and targets.counts[0] < targets.counts[1] else 1


def rankings(
    probabilities: npt.NDArray[np.float64], actual: npt.NDArray[np.int64], targets: Targets
) -> dict[str, Ranking]:
    """By class, each against all others: of two the positive alone, of several those that some examples are of."""
    classes = targets.classes or []
    columns = range(len(classes)) if len(classes) > 2 else [positive_class(targets)]
    ranked = {c: actual == c for c in columns}
    return {
        classes[c]: Ranking.of(probabilities[:, c], members)
        for c, members in ranked.items()
        if 0 < members.sum() < len(members)
    }
