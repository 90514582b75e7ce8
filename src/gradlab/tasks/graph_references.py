"""What other methods reach on the same graph: labels alone that spread along edges, and features alone."""

import warnings
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.nn.graphs import Graphs, neighbour_sum, reduce_segments
from gradlab.nn.graphs.segments import sizes

_ROUNDS, _SPREAD = 50, 0.9  # of label propagation: each round takes so much of the neighbours, the rest of the labels
_MOST_ROWS = 20_000  # that the network on features learns from


class LabelPropagation(nn.Module):
    r"""Training labels that spread along the edges, and nothing else.

    $$ F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y $$

    Zhou et al. 2004, Learning with local and global consistency.
    """

    nodes: Tensor
    labels: Tensor

    def __init__(self, nodes: Int64[Tensor, " labelled"], labels: Int64[Tensor, " labelled"], classes: int):
        super().__init__()
        self.register_buffer("nodes", nodes)
        self.register_buffer("labels", labels)
        self.classes = classes

    def scores(self, graphs: Graphs) -> Float[Tensor, "nodes classes"]:
        start = torch.zeros(len(graphs.x), self.classes, device=graphs.device)
        start[self.nodes] = F.one_hot(self.labels, self.classes).float()
        scale = sizes(graphs.edges[1], len(graphs.x)).clamp(min=1).float().rsqrt()
        weight, scores = scale[graphs.edges[0]] * scale[graphs.edges[1]], start
        for _ in range(_ROUNDS):
            scores = _SPREAD * neighbour_sum(scores, graphs.edges, weight) + (1 - _SPREAD) * start
        return scores

    def forward(self, graphs: Graphs) -> Float[Tensor, "examples classes"]:
        assert graphs.queried is not None
        scores = self.scores(graphs)[graphs.queried[:, 0]] + 1e-9
        return torch.log(scores / scores.sum(1, keepdim=True))


class OnFeatures(nn.Module):
    """A classifier of scikit-learn that sees the features of the nodes that are asked for, and no edge."""

    def __init__(self, train: Graphs, targets: Tensor, classes: int):
        from sklearn.neural_network import MLPClassifier

        super().__init__()
        self.classes = classes
        rows = torch.arange(len(train))[:_MOST_ROWS]
        x, y = _of_nodes(train[rows]), targets[rows.to(targets.device)].cpu().numpy()
        # An L-BFGS run on few examples settles in a second, and needs no rate.
        estimator = MLPClassifier((32,), alpha=0.1, solver="lbfgs", max_iter=500, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says where it could go on
            self.estimator = estimator.fit(x, y)

    def forward(self, graphs: Graphs) -> Float[Tensor, "examples classes"]:
        logits = torch.full((len(graphs), self.classes), -20.0)
        known = torch.from_numpy(self.estimator.predict_proba(_of_nodes(graphs))).float().clamp(min=1e-9).log()
        logits[:, torch.as_tensor(self.estimator.classes_)] = known
        return logits.to(graphs.device)


def _of_nodes(graphs: Graphs) -> npt.NDArray[np.float32]:
    """Features of each example: of its node, of both ends of an edge, or the mean over a graph."""
    if graphs.queried is None:
        return reduce_segments(graphs.x, graphs.graph, len(graphs), "mean").cpu().numpy()
    x = graphs.x[graphs.queried]
    return (x[:, 0] if x.shape[1] == 1 else torch.cat([x.sum(1), x.prod(1)], 1)).cpu().numpy()


def graph_references(train: Graphs, targets: Tensor, classes: int) -> Mapping[str, nn.Module]:
    """By name; labels spread between nodes alone."""
    references: dict[str, nn.Module] = {"MLP on the features alone": OnFeatures(train, targets, classes)}
    if train.queried is not None and train.queried.shape[1] == 1:
        references["label propagation"] = LabelPropagation(train.queried[:, 0], targets, classes)
    return references
