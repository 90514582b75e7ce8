"""Graphs as data: known figures of the karate club, splits, and batches."""

import numpy as np
import pytest
import torch

from gradlab.data.graphs.generated import blocks, karate
from gradlab.data.graphs.preparation import prepare_graphs
from gradlab.errors import GradlabError
from gradlab.nn.graphs import Graphs
from gradlab.tasks import Classify
from gradlab.tasks.evaluation import evaluate_supervised, predict


def test_the_karate_club_has_its_known_figures() -> None:
    club = karate(0)
    assert club.edges.shape == (2, 156)
    assert club.degrees[[0, 33, 32, 11]].tolist() == [16, 17, 12, 1]
    assert club.targets.sum() == 17
    triangles = np.zeros((34, 34))
    triangles[club.edges[0], club.edges[1]] = 1
    assert np.trace(triangles @ triangles @ triangles) / 6 == 45


def test_two_members_are_learned_from() -> None:
    data = prepare_graphs(karate(0), "classes")
    assert data.train.rows.tolist() == [0, 33]
    assert sorted([*data.train.rows, *data.validation.rows, *data.test.rows]) == list(range(34))


def test_a_block_model_has_the_edges_that_were_asked_for() -> None:
    raw = blocks(0, nodes=2000, blocks=4, inside=12.0, outside=4.0)
    inside = raw.targets[raw.edges[0]] == raw.targets[raw.edges[1]]
    assert raw.edges.shape[1] / 2000 == pytest.approx(16, rel=0.05)
    assert inside.mean() == pytest.approx(0.75, abs=0.02)


def test_edges_that_are_asked_for_carry_no_messages() -> None:
    data = prepare_graphs(blocks(0, nodes=100, blocks=2, level="edge"), "classes")
    carried = set(map(tuple, data.train.inputs.edges.T.tolist()))
    for split in (data.train, data.validation, data.test):
        assert len(split)
        assert not carried & set(map(tuple, split.inputs.queried.tolist()))
        assert split.targets.float().mean() == pytest.approx(0.5, abs=0.1)


def test_chosen_graphs_are_those_of_the_whole() -> None:
    data = prepare_graphs(blocks(0, nodes=12, blocks=2, graphs=9, level="graph"), "classes", node_features="degree")
    whole = data.train.inputs
    for row in range(len(whole)):
        one, pair = whole[[row]], whole[[2, row]]
        assert torch.equal(pair.x[12:], one.x)
        assert torch.equal(pair.edges[:, pair.edges[1] >= 12] - 12, one.edges)
        degrees = torch.bincount(one.edges[1], minlength=12)
        assert torch.allclose(one.x[:, 1], torch.log1p(degrees.float()))  # the edges are its own


def test_nodes_may_be_asked_in_any_order() -> None:
    graphs = Graphs(
        torch.zeros(3, 1), torch.zeros(2, 0, dtype=torch.int64), torch.tensor([3]), torch.arange(3)[:, None]
    )
    assert graphs[[2, 0]].queried.flatten().tolist() == [2, 0]  # type: ignore[union-attr]
    assert [len(part) for part in graphs.tensor_split(2)] == [2, 1]


def test_labels_of_each_class_are_trained_on_and_all_else_is_held_out() -> None:
    data = prepare_graphs(blocks(0, nodes=200, blocks=4), "classes", labels=5)
    assert torch.bincount(data.train.targets).tolist() == [5] * 4
    assert len(data.validation) + len(data.test) == 180


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"blocks": 1}, "two groups"), ({"inside": 0.0, "outside": 0.0}, "no edge"), ({"nodes": 5, "blocks": 3}, "raise")],
)
def test_a_block_model_that_makes_no_sense_is_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(GradlabError, match=words):
        blocks(0, **{"nodes": 20, **settings})  # type: ignore[arg-type]


def test_a_split_of_nodes_is_evaluated_in_one_pass_over_the_graph() -> None:
    """Around each batch of nodes the graph is whole: several batches would cost as much as so many graphs."""
    data = prepare_graphs(blocks(0, nodes=100, blocks=2), "classes")
    passes: list[int] = []

    class Counting(torch.nn.Module):
        def forward(self, graphs: Graphs) -> torch.Tensor:
            passes.append(len(graphs))
            return graphs.x[graphs.queried[:, 0], :2]  # type: ignore[index]

    evaluate_supervised(Counting(), Classify(data.targets), data.train, rows=7)
    predict(Counting(), data.train.inputs, rows=7)
    assert passes == [len(data.train)] * 2


def test_whole_graphs_are_evaluated_in_batches() -> None:
    data = prepare_graphs(blocks(0, nodes=12, blocks=2, graphs=20, level="graph"), "classes")
    assert [len(batch["inputs"]) for batch in data.train.batches(8)] == [8, len(data.train) - 8]
