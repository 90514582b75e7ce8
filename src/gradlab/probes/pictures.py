"""A batch of pictures: what speaks for their classes, and whether they look like those of the training."""

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from gradlab.data import Preprocessing
from gradlab.probes.attribution import Attributions, attributions, questions
from gradlab.probes.recording import Recording
from gradlab.probes.saliency import class_scores
from gradlab.wording import quantity

EXPLAINED = 6  # pictures of a batch
_OPERATIONS = 2e11  # that this may take: some seconds on a slow core
_FAR = 1.5  # standard deviations of pixels, by which the mean of pictures is far from that of the training


def are_pictures(x: Any) -> bool:
    """Whether a batch is of grey or coloured pictures."""
    return isinstance(x, Tensor) and x.is_floating_point() and x.ndim == 4 and x.shape[1] in (1, 3) and len(x) > 0


def are_classified(outputs: Any, x: Any, y: Any) -> bool:
    """Whether a module gave scores of classes for pictures: numbers as targets would make them something else."""
    scores = isinstance(outputs, Tensor) and outputs.ndim == 2 and are_pictures(x) and len(outputs) == len(x)
    return scores and (y is None or (isinstance(y, Tensor) and y.ndim == 1 and not y.is_floating_point()))


def explained(
    seen: Recording, x: Tensor, pictures: npt.NDArray[Any], y: Tensor | None, names: list[str] | None = None
) -> Attributions:
    """What of the first pictures speaks for the predicted classes, and for the actual ones. They go by their numbers,
    unless they have names."""
    scores = class_scores(seen.output[:EXPLAINED].detach())
    actual = None if y is None else y[:EXPLAINED].long().tolist()
    wanted = questions(pictures, x[:EXPLAINED], scores.argmax(1).tolist(), actual)
    return attributions(seen.model, wanted, names or [str(i) for i in range(scores.shape[1])], _OPERATIONS)


def unlike_training(preprocessing: Preprocessing, values: npt.NDArray[Any]) -> list[str]:
    """Whether pictures are much brighter or darker than those of the training, as a drawing on white paper may be."""
    if len(preprocessing.shape) != 3 or preprocessing.method != "standardise":
        return []
    mean, usual, spread = (float(np.mean(part)) for part in (values, preprocessing.shift, preprocessing.scale))
    if abs(mean - usual) < _FAR * spread:
        return []
    return [
        f"The pixels are much {'brighter' if mean > usual else 'darker'} than in training: their mean is "
        f"{quantity(mean, 3)}, there it was {quantity(usual, 3)}. Is the picture inverted, or on another background?"
    ]
