"""Where a sum is at a threshold up to rounding, either side is right; anywhere else nothing is forgiven."""

import pytest
import torch

from gradlab.nn.graphs.layers import GraphAttention
from gradlab.nn.perceptron import Perceptron
from gradlab.scratch import functions
from gradlab.verification import Subject, checks, run_check
from gradlab.verification.checks import Fault
from gradlab.verification.comparing import EXACT, twin_difference

SEEDS = (1, 2)
STEPS = [
    *("neuron.perceptron", "activation.step", "activation.argmax", "activation.leaky_relu", "activation.maxout"),
    *("graph.attention", "graph.messages", "loss.hinge", "loss.huber", "pool.max2d"),
]


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


A, B, C = 0.1, 0.2, 0.3  # of which the first two sum to the third, up to rounding
KINKS = {
    "step": (functions.step, lambda z, side: (side > 0).double()),
    "leaky relu": (lambda z: functions.leaky_relu(z, 0.2), lambda z, side: torch.where(side > 0, z, 0.2 * z)),
    "relu": (functions.relu, lambda z, side: torch.where(side > 0, z, 0.0 * z)),
    "absolute": (functions.absolute, lambda z, side: z * side),
}


def through_kink(name, side, *, scale=1.0, far=None):
    """The error of f(x₀ + x₁ - x₂) at a tie and away from it, computed on these sides of the kink."""
    twin, ours = KINKS[name]
    x = tensor([A, B, C], [1.0, 2.0, -1.0])
    z = (x * torch.tensor([1.0, 1.0, -1.0])).sum(1)
    sides = torch.stack([torch.tensor(float(side)), torch.tensor(1.0 if far is None else far)])
    return twin_difference(ours(z, sides) * scale, lambda x: twin((x * [1.0, 1.0, -1.0]).sum(1)), x)


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.parametrize("side", [-1, 1])
def test_either_side_of_a_tie_is_right(name, side):
    assert through_kink(name, side) <= EXACT


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.parametrize("side", [-1, 1])
def test_the_wrong_side_away_from_a_tie_is_found_next_to_one(name, side):
    assert through_kink(name, side, far=-1.0) > 0.1
    assert through_kink(name, side, scale=1.1) > 0.05


def test_what_lies_between_the_sides_of_a_step_is_wrong():
    x = tensor(A, B, C)
    half = torch.full((), 0.5, dtype=torch.float64)
    assert twin_difference(half, lambda x: functions.step(x[0] + x[1] - x[2]), x) >= 0.5


def test_inputs_that_are_equal_are_no_matter_of_rounding():
    x = tensor(3.0, 3.0, 1.0)
    first, shared = torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor([0.5, 0.5, 0.0]).double()
    assert twin_difference(shared, functions.argmax, x) == 0
    assert twin_difference(first, functions.argmax, x) == 1
    zero = tensor(0.0)
    assert twin_difference((zero > 0).double(), functions.step, zero) == 1


@pytest.mark.parametrize("block", STEPS)
def test_blocks_with_steps_agree_with_their_twins_for_other_seeds(block):
    twins = [check for check in checks[block] if check.kind == "twin"]
    for seed in SEEDS:
        for twin in twins:
            result = run_check(twin, Subject.block(block, seed=seed), smallest=False)
            assert result.passed, f"seed {seed}, {twin.name}: {result.reason} in {result.example}"


def _threshold(self, x):
    return (x @ self.weight + self.bias >= 0.05).to(x.dtype)


def _strict(self, x):
    return (x @ self.weight + self.bias > 0).to(x.dtype)


def _slope(self, x, edges):
    self.negative_slope = 0.25
    return self.right(x, edges)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("block", "kind", "forward"),
    [
        ("neuron.perceptron", Perceptron, _threshold),
        ("neuron.perceptron", Perceptron, _strict),
        ("neuron.perceptron", Perceptron, lambda self, x: 1 - self.right(x)),
        ("graph.attention", GraphAttention, _slope),
    ],
    ids=["other threshold", "strict inequality", "wrong side", "other slope"],
)
def test_a_whole_step_away_from_a_tie_is_rejected(block, kind, forward, seed):
    wrong = Subject(block, Fault(forward=forward).of(block), seed=seed)
    (twin, *_) = checks[block]
    assert issubclass(wrong.implementation, kind)
    result = run_check(twin, wrong, smallest=False)
    assert result.passed is False
    assert result.reason.startswith("off by")
