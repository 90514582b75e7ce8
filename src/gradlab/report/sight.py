"""What a classifier of pictures sees in test examples: what speaks for their classes, and its feature maps of one."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, join, quiet
from gradlab.report.pictures import is_picture, picture, to_pixels
from gradlab.report.predictions import Predictions

if TYPE_CHECKING:
    from gradlab.run import Run

_PICTURES, _MISTAKES = 6, 2
_OPERATIONS = 2e10  # that are always affordable: about a second of a slow core
_SHARE = 0.05  # of what the training took, which is affordable too
_BOTH_WAYS = 3  # forward passes that one with its way back costs


def sight_sections(run: "Run", predictions: Predictions) -> Html:
    """Nothing where the inputs are no pictures."""
    if not is_picture(run.data["inputs"].get("shape") or []):
        return Html()
    import torch

    from gradlab.models.cost import forward_flops
    from gradlab.probes import attributions, feature_maps, questions, record
    from gradlab.report.attributions import attribution_section
    from gradlab.report.feature_maps import feature_map_section, picture_row

    chosen = _chosen(predictions)
    x = run.dataset.test.batch(torch.from_numpy(chosen))["inputs"]
    labels = [which[chosen].tolist() for which in (predictions.predicted, predictions.actual)]
    passes = _BOTH_WAYS * run.metrics[-1]["epoch"] * run.data["sizes"]["train"]
    operations = max(_OPERATIONS, _SHARE * passes * forward_flops(run.model, x[:1]))
    wanted = questions(predictions.raw(run, chosen), x, *labels)
    words = quiet("Some test examples that it recognises, then the most confident mistakes.")
    explained = attributions(run.model, wanted, predictions.classes, operations)
    row = picture_row(
        "The picture", [picture(to_pixels(wanted[0].picture[None])[0], predictions.classes[labels[1][0]])]
    )
    maps = feature_map_section(feature_maps(record(run.model, x[:1])), row)
    return join([attribution_section(explained, words), maps])


def _chosen(predictions: Predictions) -> npt.NDArray[np.int64]:
    """Examples of different classes that are recognised, and after them the most confident mistakes."""
    mistakes = predictions.mistakes()[:_MISTAKES]
    right = np.flatnonzero(predictions.predicted == predictions.actual)
    _, first = np.unique(predictions.actual[right], return_index=True)
    count = min(_PICTURES - len(mistakes), len(first))
    return np.concatenate([right[first[np.arange(count) * len(first) // max(1, count)]], mistakes])
