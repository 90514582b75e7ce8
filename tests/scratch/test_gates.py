"""Each gate against central differences and against torch, in shapes that broadcast and shapes that do not."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scratch_helpers import agree, distinct, normal, positive, right, same, shapes
from torch.nn import functional as F

from gradlab.scratch import Tensor, gates
from gradlab.scratch import activations as activation_gates
from gradlab.scratch import functions as ours

ELEMENTWISE = {
    "exp": (ours.exp, torch.exp),
    "absolute": (ours.absolute, torch.abs),
    "neg": (lambda x: -x, torch.neg),
    "square": (lambda x: x**2, torch.square),
    "constants on the left": (lambda x: 2 - 3 * x + 2**x, lambda x: 2 - 3 * x + 2**x),
    "constants on the right": (lambda x: (x - 2) / 4 + 1, lambda x: (x - 2) / 4 + 1),
    "relu": (ours.relu, F.relu),
    "leaky_relu": (lambda x: ours.leaky_relu(x, 0.2), lambda x: F.leaky_relu(x, 0.2)),
    "steep leaky_relu": (lambda x: ours.leaky_relu(x, 1.5), lambda x: F.leaky_relu(x, 1.5)),
    "elu": (lambda x: ours.elu(x, 1.7), lambda x: F.elu(x, 1.7)),
    "sigmoid": (ours.sigmoid, torch.sigmoid),
    "tanh": (ours.tanh, torch.tanh),
    "softplus": (ours.softplus, F.softplus),
    "silu": (ours.silu, F.silu),
    "gelu": (ours.gelu, F.gelu),
    "gelu_tanh": (ours.gelu_tanh, lambda x: F.gelu(x, approximate="tanh")),
}
OF_POSITIVES = {
    "log": (ours.log, torch.log),
    "sqrt": (ours.sqrt, torch.sqrt),
    "inverse": (lambda x: 1 / x, torch.reciprocal),
}
PAIRS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
}


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
@given(shape=shapes)
def test_a_gate_of_one_input(name, shape):
    mine, theirs = ELEMENTWISE[name]
    right(mine, normal(*shape))
    agree(mine, theirs, normal(*shape))


@pytest.mark.parametrize("name", sorted(OF_POSITIVES))
@given(shape=shapes)
def test_a_gate_of_a_positive_input(name, shape):
    mine, theirs = OF_POSITIVES[name]
    right(mine, positive(*shape))
    agree(mine, theirs, positive(*shape))


@st.composite
def broadcast_shapes(draw):
    """Two shapes that NumPy brings together: axes of length 1 and missing axes on either side."""
    shape = draw(shapes)
    sides = [
        tuple(1 if draw(st.booleans()) else n for n in shape)[draw(st.integers(0, len(shape))) :] for _ in range(2)
    ]
    return sides[0], sides[1]


@pytest.mark.parametrize("name", sorted(PAIRS))
@given(both=broadcast_shapes())
def test_a_gate_of_two_inputs_that_broadcast(name, both):
    arrays = normal(*both[0]), positive(*both[1], seed=1)  # positive: central differences fail beside the pole of 1/y
    right(PAIRS[name], *arrays)
    agree(PAIRS[name], PAIRS[name], *arrays)


@given(both=broadcast_shapes())
def test_a_power_of_which_both_parts_are_variables(both):
    arrays = positive(*both[0]), normal(*both[1], seed=1)
    right(lambda x, y: x**y, *arrays)
    agree(lambda x, y: x**y, lambda x, y: x**y, *arrays)


@given(both=broadcast_shapes())
def test_where_takes_from_either_side(both):
    arrays = normal(*both[0]), normal(*both[1], seed=1)
    mask = normal(*np.broadcast_shapes(*both), seed=2) > 0
    right(lambda x, y: ours.where(mask, x, y), *arrays)
    agree(lambda x, y: ours.where(mask, x, y), lambda x, y: torch.where(torch.tensor(mask), x, y), *arrays)


@given(n=st.integers(1, 4), m=st.integers(1, 4), k=st.integers(1, 4), stacks=broadcast_shapes())
def test_products_of_stacks_of_matrices(n, m, k, stacks):
    arrays = normal(*stacks[0], n, m), normal(*stacks[1], m, k, seed=1)
    agree(lambda x, y: x @ y, lambda x, y: x @ y, *arrays)
    if sum(a.size for a in arrays) < 60:
        right(lambda x, y: x @ y, *arrays)


def test_a_product_with_a_vector_says_what_to_do():
    with pytest.raises(ValueError, match=r"shapes \(2, 3\) and \(3,\): make a vector a row or a column"):
        Tensor(np.ones((2, 3))) @ np.ones(3)


AXES = [None, 0, -1, (0, 2), (1, -1)]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_and_means(name, axis, keepdims):
    def mine(x):
        return getattr(x, name)(axis, keepdims=keepdims)

    def theirs(x):
        return getattr(x, name)(axis, keepdim=keepdims) if axis is not None or not keepdims else theirs_kept(x)

    def theirs_kept(x):
        return getattr(x, name)().reshape(1, 1, 1)

    right(mine, normal(2, 3, 4))
    agree(mine, theirs, normal(2, 3, 4))


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
def test_the_largest_takes_the_whole_gradient(shape, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = distinct(*shape)
    right(lambda x: x.max(axis), x)
    agree(lambda x: x.max(axis), (lambda x: x.max()) if axis is None else (lambda x: x.max(axis).values), x)


def test_of_equal_entries_the_first_wins():
    x = Tensor([2.0, 5.0, 5.0])
    x.max().backward()
    assert x.grad.tolist() == [0, 1, 0]


KEYS = {
    "a row": 1,
    "a slice": (slice(None), slice(0, 3, 2)),
    "backwards": (slice(None, None, -1), 0),
    "a new axis": (slice(None), None),
    "an ellipsis": (..., -1),
    "repeated rows": np.array([0, 2, 0, 0, 1]),
    "pairs, one of them twice": (np.array([0, 1, 0, 2]), np.array([3, 1, 3, 0])),
    "a mask": normal(3, 4, seed=5) > 0,
}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_entries_by_index(name):
    key = KEYS[name]
    right(lambda x: x[key], normal(3, 4))
    if name != "backwards":  # torch has no negative strides
        agree(lambda x: x[key], lambda x: x[key], normal(3, 4))


def test_moves_of_entries():
    x, y = normal(2, 3, 4), normal(2, 2, 4, seed=1)
    for mine, theirs, arrays in [
        (lambda x: x.reshape(4, -1), lambda x: x.reshape(4, -1), [x]),
        (lambda x: x.transpose(1, 2, 0), lambda x: x.permute(1, 2, 0), [x]),
        (lambda x: x.T, lambda x: x.mT, [x]),
        (lambda x, y: ours.concatenate([x, y, x], 1), lambda x, y: torch.cat([x, y, x], 1), [x, y]),
        (lambda x, y: ours.concatenate([x, y], -2), lambda x, y: torch.cat([x, y], -2), [x, y]),
        (lambda x: ours.stack([x, x * x], 1), lambda x: torch.stack([x, x * x], 1), [x]),
        (lambda x: ours.stack([x, x * x], -1), lambda x: torch.stack([x, x * x], -1), [x]),
        (lambda x: ours.pad(x, [(0, 0), (1, 0), (2, 3)], 7.0), lambda x: F.pad(x, (2, 3, 1, 0), value=7.0), [x]),
    ]:
        right(mine, *arrays)
        agree(mine, theirs, *arrays)


@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
def test_softmax_and_its_logarithm(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for name in ("softmax", "log_softmax"):
        mine, theirs = getattr(ours, name), getattr(torch, name)
        right(lambda x, mine=mine: mine(x, axis), normal(*shape))
        agree(lambda x, mine=mine: mine(x, axis), lambda x, theirs=theirs: theirs(x, axis), normal(*shape))


def test_a_masked_softmax_is_that_of_the_entries_left():
    x, mask = normal(3, 5), np.array([[1, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    z = ours.softmax(Tensor(x), mask=mask)
    same(z.value[0, mask[0]], torch.softmax(torch.tensor(x[0, mask[0]]), 0))
    assert z.value[1].tolist() == [0, 0, 1, 0, 0]
    assert z.value[2].tolist() == [0] * 5
    right(lambda x: ours.softmax(x, mask=mask), x)


@pytest.mark.parametrize("shift", [-2000.0, 2000.0])
def test_softmax_does_not_change_when_all_entries_are_moved_alike(shift):
    x, mask = normal(3, 5), normal(3, 5, seed=1) > -0.5
    for name, settings in (("softmax", {}), ("softmax", {"mask": mask}), ("log_softmax", {})):
        moved, still = (getattr(ours, name)(Tensor(a), **settings).value for a in (x + shift, x))
        assert np.allclose(moved, still, rtol=1e-9, atol=1e-11)


EXTREMES = np.array([-1e4, -800.0, 800.0, 1e4])


@pytest.mark.parametrize(
    "name", ["elu", "gelu", "gelu_tanh", "log_softmax", "relu", "sigmoid", "silu", "softmax", "softplus", "tanh"]
)
def test_large_inputs_overflow_nowhere(name):
    x = Tensor(EXTREMES)
    getattr(ours, name)(x).sum().backward()
    assert np.isfinite(x.grad).all()


def test_at_its_kink_relu_has_slope_zero():
    x = Tensor([0.0, -0.0])
    ours.relu(x).sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_a_power_of_zero_has_slope_zero_everywhere():
    x = Tensor([0.0, 2.0])
    (x**0).sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_every_gate_is_documented():
    for room in (gates, activation_gates):
        for name, gate in vars(room).items():
            if callable(gate) and getattr(gate, "__module__", "") == room.__name__ and not name.startswith("_"):
                assert gate.__doc__, name
