"""Markov chains: refusals that name the row, reducible and periodic chains, and networks beside networkx."""

import networkx as nx
import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.markov import (
    MarkovChain,
    NormalKernel,
    law_after,
    lumped,
    memory,
    order_chain,
    sample_paths,
    simulate,
    stationary_laws,
)
from gradlab.maths.markov.chain import closed_classes
from gradlab.maths.probability import JointTable

COLUMNS = [[0.9, 0.5], [0.1, 0.5]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarkovChain([[0.5, 0.5], [0.3, 0.6]]), "row 1 sums to 0.9"),
        (lambda: MarkovChain([[1.5, -0.5], [0.3, 0.7]]), "row 0 has -0.5 in column 1"),
        (
            lambda: MarkovChain(COLUMNS),
            "row 0 sums to 1.4; each row must be a distribution over the next state. Its columns do sum to 1:",
        ),
        (lambda: MarkovChain([[1.0, 0.0]]), "must be a square matrix"),
        (lambda: MarkovChain(torch.eye(2)), "it has 2 stationary laws, on the states [0] and [1]"),
        (lambda: MarkovChain(torch.eye(2), 2), "states are 0 to 1, it cannot start in 2"),
        (lambda: MarkovChain(torch.eye(2), [0.5, 0.6]), "start: probabilities must sum to 1, and these sum to 1.1"),
        (lambda: MarkovChain(torch.full((10, 10), 0.1), 0).table(9), "a table of 10^10 paths is too large"),
        (
            lambda: law_after(torch.tensor([0.5, 0.5]), [torch.eye(2), torch.ones(2, 2)]),
            "transition 1: row 0 sums to 2",
        ),
        (lambda: lumped(MarkovChain(torch.eye(2), 0), ["a"]), "2 states need a group each, got 1"),
        (lambda: memory(JointTable.independent(X0=[1.0], X1=[1.0])), "at least three times"),
        (lambda: order_chain(torch.ones(2, 3) / 3), "the same states, got the shape (2, 3)"),
        (lambda: simulate(lambda x, g: x[:1], torch.zeros(2), 1), "states of shape (1,) of those of (2,)"),
        (lambda: NormalKernel([[-1.0]]), "its entry 0, 0 is -1, and a variance is never negative"),
        (lambda: NormalKernel([[1.0]], matrix=[[1.0, 2.0]]), "matrix must be (1, 1), got (1, 2)"),
        (lambda: law_after([0.5, 0.6], [torch.eye(2)]), "start: probabilities must sum to 1, and these sum to 1.1"),
        (
            lambda: law_after([0.5, 0.5], [torch.eye(3)]),
            "transition 0 is between 3 states, and the start is over 2",
        ),
    ],
)
def test_what_is_refused_is_named(build, message):
    with pytest.raises(GradlabError) as error:
        build()
    assert message in str(error.value)


@pytest.mark.parametrize("seed", range(10))
def test_closed_classes_are_attracting_components(seed):
    rng = np.random.default_rng(seed)
    links = (rng.uniform(size=(9, 9)) < 0.15) | np.eye(9, k=0, dtype=bool)
    matrix = torch.from_numpy(links / links.sum(1, keepdims=True))
    graph = nx.from_numpy_array(links, create_using=nx.DiGraph)
    wanted = sorted(sorted(c) for c in nx.attracting_components(graph))
    assert sorted(closed_classes(matrix)) == wanted
    assert len(stationary_laws(matrix)) == len(wanted)


def test_a_chain_with_a_period_has_a_stationary_law():
    around = torch.roll(torch.eye(3), 1, 1)
    torch.testing.assert_close(MarkovChain(around, 0).stationary(), torch.full((3,), 1 / 3))
    assert MarkovChain(around, 0).law(3).tolist() == [1.0, 0.0, 0.0]


def test_a_walk_on_a_graph_stays_where_there_are_edges():
    graph = nx.karate_club_graph()
    links = nx.to_numpy_array(graph, weight=None)
    degrees = links.sum(1)
    found = stationary_laws(links / degrees[:, None])
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, (degrees / degrees.sum())[None])


def test_a_lumping_that_keeps_the_markov_property_is_seen_to():
    """Groups whose states go to each group equally often."""
    chain = MarkovChain([[0.2, 0.3, 0.5], [0.4, 0.1, 0.5], [0.25, 0.25, 0.5]])
    assert float(memory(lumped(chain, ["a", "a", "b"], steps=3))) < 1e-12


def test_an_order_of_two_is_no_chain_of_single_states():
    following = torch.tensor([[[0.9, 0.1], [0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]], dtype=torch.float64)
    chain = order_chain(following)
    newest = lumped(chain, [0, 1, 0, 1])
    assert float(memory(newest)) > 0.1
    assert float(memory(chain.table(2))) < 1e-12
    assert float(newest.condition(Y0=1, Y1=0).probability(lambda y: y == 0)) == pytest.approx(0.1)


def test_samples_are_those_of_their_seed():
    chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
    first, again = (chain.sample(20, 3, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape == (3, 21)


def test_draws_of_a_chain_whose_steps_differ_have_its_laws():
    start, generator = torch.tensor([0.2, 0.8]), torch.Generator().manual_seed(0)
    transitions = [torch.tensor([[0.9, 0.1], [0.4, 0.6]]), torch.tensor([[0.1, 0.9], [0.7, 0.3]])]
    paths = sample_paths(start, transitions, 40_000, generator)
    for n in range(3):
        shares = torch.bincount(paths[:, n], minlength=2) / len(paths)
        torch.testing.assert_close(shares, law_after(start, transitions[:n]), atol=0.01, rtol=0.0)
