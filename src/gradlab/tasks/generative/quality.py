"""How like real examples samples are, beside how like each other two sets of real examples are."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.tasks.evaluation import predict
from gradlab.tasks.generative.coverage import NEIGHBOURS, precision_recall
from gradlab.tasks.generative.features import WORDS, Kind
from gradlab.tasks.generative.frechet import frechet_distance
from gradlab.tasks.generative.wasserstein import DIRECTIONS, sliced_wasserstein

DRAWS = 10
MOST = 1000  # samples of a draw

Features = Float[Tensor, "examples dim"]
Figures = dict[str, float]
Draw = Callable[[int], Tensor]
"""Gives so many samples, in prepared units."""


@dataclass(frozen=True)
class Judge:
    """Compares samples with examples of a split by their features, always as many of each, drawn ten times.

    A finished training makes it, and the run keeps it. Figures are means over the draws, `_se` their standard errors.
    """

    kind: Kind
    network: nn.Module
    """From prepared examples to features."""
    training: Features
    """Of training examples, on the CPU: what the split itself is compared with."""
    most: int = MOST
    """Samples of a draw at most."""

    @property
    def dimension(self) -> int:
        return self.training.shape[1]

    def count(self, examples: int) -> int:
        """How many samples are compared with as many examples; 0 where these are too few to tell anything."""
        return 0 if self.missing(examples) else min(examples, len(self.training), self.most)

    def missing(self, examples: int) -> str:
        """Of what there is too little to compare samples with so many examples; empty if of nothing."""
        least = max(self.dimension, NEIGHBOURS)
        there = {"examples": examples, "training examples": len(self.training), "samples (task.compared)": self.most}
        what, count = min(there.items(), key=lambda item: item[1])
        return "" if count > least else f"it takes more than {least}, and there are {count} {what}"

    def quality(self, draw: Draw, inputs: Any) -> Figures:
        """What samples are like beside the examples of a split; nothing where there are too few of these."""
        if not (count := self.count(len(inputs))):
            return {}
        # All draws together: what draws piece by piece does so as fast for many as for one.
        real, drawn = self.features(inputs[:]), torch.split(self.features(draw(DRAWS * count)), count)
        pairs = [(_some(real, count, turn), features) for turn, features in enumerate(drawn)]
        distances = _means([self._distances(*pair) for pair in pairs])
        covered = _means([_coverage(*pair) for pair in pairs])
        return distances | {name: value for name, value in covered.items() if not name.endswith("_se")}

    def of_real(self, inputs: Any) -> Figures:
        """The same distances with training examples in place of samples: what a perfect model would have."""
        count = self.count(len(inputs))
        real = self.features(inputs[:]) if count else torch.empty(0)
        pairs = [(_some(real, count, turn), _some(self.training, count, -turn)) for turn in range(DRAWS) if count]
        return _means([{f"{name}_real": d for name, d in self._distances(*pair).items()} for pair in pairs])

    def features(self, examples: Tensor) -> Features:
        return predict(self.network, examples).cpu()

    def _distances(self, real: Features, drawn: Features) -> Figures:
        """NaN where a model draws what is no number."""
        finite = bool(drawn.isfinite().all())
        return {name: distance(real, drawn) if finite else math.nan for name, distance in self.measures.items()}

    @property
    def measures(self) -> dict[str, Callable[[Features, Features], float]]:
        """Distances between sets of features: of points in the plane one more, which sees more than two moments."""
        plane = {"sliced_wasserstein": sliced_wasserstein} if self.kind == "numbers" and self.dimension == 2 else {}
        return {"frechet": frechet_distance, **plane}

    @property
    def signatures(self) -> dict[str, str]:
        """How each figure is computed, in words."""
        most = min(self.most, len(self.training))
        sizes = f"{DRAWS} draws of as many samples as the split has examples, at most {most:,}"
        beside = "_se: standard error; _real: training examples in place of samples"
        named = {
            "frechet": f"features: {WORDS[self.kind]} ({self.dimension} numbers); {sizes}; {beside}",
            "precision": f"manifolds of {NEIGHBOURS} nearest neighbours, of the same features and draws",
            "recall": "likewise",
        }
        if "sliced_wasserstein" in self.measures:
            named["sliced_wasserstein"] = f"W1 in the mean over {DIRECTIONS} directions, of the same features and draws"
        return named


def _coverage(real: Features, drawn: Features) -> Figures:
    if not drawn.isfinite().all():
        return {"precision": 0.0, "recall": 0.0}
    return precision_recall(real, drawn)._asdict()


def _some(features: Features, count: int, turn: int) -> Features:
    """So many of them, others at each turn; all where there are no more."""
    draw = torch.Generator().manual_seed(2**32 + turn)
    return features[torch.randperm(len(features), generator=draw)[:count]]


def _means(draws: Sequence[Mapping[str, float]]) -> Figures:
    """The mean over draws of each figure, and its standard error.

    >>> _means([{"frechet": 1.0}, {"frechet": 3.0}])
    {'frechet': 2.0, 'frechet_se': 1.0}
    """
    means: Figures = {}
    for name in draws[0] if draws else ():
        values = torch.tensor([draw[name] for draw in draws], dtype=torch.float64)
        means |= {name: values.mean().item(), f"{name}_se": values.std().item() / len(draws) ** 0.5}
    return means
