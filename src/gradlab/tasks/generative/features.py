"""What samples and real examples are compared by: features, which are numbers that tell alike from unlike."""

from typing import Literal

import torch
from torch import nn

from gradlab.data import Targets
from gradlab.models import build_model
from gradlab.models.head import head_of
from gradlab.registry import Part
from gradlab.specs import Picture, Spec

Kind = Literal["numbers", "classifier", "random"]

SEED = 2**31 + 13  # of the weights of feature networks: those of two runs on the same data are the same
_NETWORK = Part("vgg", {"widths": [32, 64], "hidden": [64]})
_SMALLEST = 4  # pixels of a side: the network halves it twice

WORDS: dict[Kind, str] = {
    "numbers": "the numbers themselves, as the model sees them",
    "classifier": "inputs of the last layer of a small classifier, trained on the training split",
    "random": "inputs of the last layer of a small network with random weights, which no classes were there to train",
}


def kind_of(spec: Spec, targets: Targets) -> Kind:
    """Of pictures with classes a classifier's, of others a random network's; of points the numbers themselves."""
    if not isinstance(spec, Picture) or min(spec.height, spec.width) < _SMALLEST:
        return "numbers"
    return "classifier" if sum(count > 0 for count in targets.counts) > 1 else "random"


def classifier(spec: Picture, classes: int) -> nn.Module:
    """The network, with fresh weights that are the same each time.

    It standardises what it sees, so that runs whose preprocessing differs are judged by the same features.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        network = build_model(_NETWORK, spec, max(1, classes))
    return nn.Sequential(nn.BatchNorm2d(spec.channels, affine=False, momentum=None), network)


def without_head(model: nn.Module) -> nn.Module:
    """The same model, which now gives what its last layer was given.

    >>> without_head(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))(torch.zeros(1, 4)).shape
    torch.Size([1, 8])
    """
    head = head_of(model)
    assert head is not None
    model.set_submodule(head, nn.Identity())
    return model


def feature_network(kind: Kind, spec: Spec) -> nn.Module:
    """What makes features of prepared examples; the weights of a classifier's are to be loaded."""
    return without_head(classifier(spec, 1)).eval() if isinstance(spec, Picture) and kind != "numbers" else nn.Flatten()
