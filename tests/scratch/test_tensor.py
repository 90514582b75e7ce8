"""The graph and the walk through it."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scratch_helpers import shapes

from gradlab.scratch import Tensor
from gradlab.scratch.functions import constant, relu
from gradlab.scratch.tensor import unbroadcast


def test_the_multiply_gate_gives_each_input_the_other():
    x, y = Tensor(3.0), Tensor(-2.0)
    (x * y).backward(10.0)
    assert (x.grad, y.grad) == (-20, 30)


def test_a_diamond_is_walked_once():
    x = Tensor(2.0)
    middle = x * x
    result = middle * 3 + middle * middle
    result.backward()
    assert (result.value, middle.grad, x.grad) == (28, 3 + 2 * 4, 11 * 4)


def test_each_rule_is_used_once_however_many_ways_lead_to_it():
    x = Tensor(1.0)
    node, calls = x, []
    for _ in range(40):  # 2⁴⁰ ways from the result to x
        node = node + node
        node._rules = tuple((lambda dz, rule=rule: calls.append(1) or rule(dz)) for rule in node._rules)
    node.backward()
    assert x.grad == 2.0**40
    assert len(calls) == 80


def test_gradients_of_several_calls_add_up():
    x = Tensor([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4, 8]
    assert y.grad == 2


def test_a_chain_of_ten_thousand_links():
    x = node = Tensor(1.0)
    for _ in range(10_000):
        node = node * 1.0001
    node.backward()
    assert x.grad == pytest.approx(1.0001**10_000, rel=1e-9)


def test_what_is_constant_has_no_gradient_and_stops_the_walk():
    x, fixed = Tensor(2.0), constant(np.array(3.0))
    before = fixed * fixed
    (x * before + 1).backward()
    assert x.grad == 9
    assert before.constant
    assert fixed.grad is None
    assert before.grad is None


def test_an_array_on_the_left_is_one_operand():
    x = Tensor([1.0, 2.0])
    product = np.array([3.0, 4.0]) * x
    assert isinstance(product, Tensor)
    assert (np.array([[1.0, 1.0]]) @ x.reshape(2, 1)).value.tolist() == [[3]]
    assert (np.float64(2.0) * x).value.tolist() == [2, 4]


def test_a_tensor_is_a_sequence_of_its_first_axis():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    (first * 10 + second).sum().backward()
    assert x.grad.tolist() == [[10, 10], [1, 1]]


def test_backward_from_many_numbers_needs_their_gradient():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"one number, not from shape \(2,\): sum it, or pass the gradient"):
        (x * 2).backward()
    (x * 2).backward([1.0, 10.0])
    assert x.grad.tolist() == [2, 20]


@given(shape=shapes, data=st.data())
def test_unbroadcast_is_the_transpose_of_broadcasting(shape, data):
    small = tuple(data.draw(st.sampled_from([1, n])) for n in shape)[data.draw(st.integers(0, len(shape))) :]
    x, dz = np.random.default_rng(0).normal(size=small), np.random.default_rng(1).normal(size=shape)
    # ⟨broadcast(x), dz⟩ = ⟨x, unbroadcast(dz)⟩
    assert np.sum(np.broadcast_to(x, shape) * dz) == pytest.approx(np.sum(x * unbroadcast(dz, small)))


def test_the_worked_network_of_two_inputs():
    """Two inputs, two hidden and two output units, all ReLU, by hand: y = (0, 2), loss 4 as a mean of squares."""
    x = constant(np.array([[1.0, 2.0]]))
    first, second = Tensor([[1, 0.5], [-0.5, 1]]), Tensor([[0.5, -2], [-1, 0.5]])
    y = relu(relu(x @ first - 0.5) @ second + 1)
    loss = ((y - np.array([2.0, 4.0])) ** 2).mean()
    loss.backward()
    assert y.value.tolist() == [[0, 2]]
    assert loss.value == 4
    w31, w42, w22 = second.grad[0, 0], second.grad[1, 1], first.grad[1, 1]
    assert (w31, w42, w22) == (0, -4, -2)


def test_the_room_needs_neither_torch_nor_scipy():
    code = """
import importlib, pkgutil, sys
import gradlab.scratch
for module in pkgutil.iter_modules(gradlab.scratch.__path__, "gradlab.scratch."):
    importlib.import_module(module.name)
print(sorted({"torch", "scipy", "sklearn"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
