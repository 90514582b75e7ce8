import numpy as np
import pytest
from scratch_helpers import normal, right, same

from gradlab.scratch import Tensor
from gradlab.scratch.position import alibi, alibi_slopes, angles, learned, relative, rotary, sinusoidal


def test_angles_turn_slower_and_slower():
    same(angles(np.array([0.0, 2.0]), 4, base=100.0), [[0, 0], [2, 0.2]])


@pytest.mark.parametrize("halves", [False, True])
def test_gradients(halves):
    x = normal(2, 3, 4)
    right(lambda x: sinusoidal(x, 5), x)
    right(lambda x, w: learned(x, w, 2), x, normal(6, 4, seed=1))
    right(lambda x: rotary(x, 5, halves=halves), x)
    right(lambda w: relative(w, 3, 5), normal(2, 5, seed=2))


def test_a_code_is_sine_and_cosine_side_by_side():
    code = sinusoidal(Tensor(np.zeros((1, 4))), offset=3, base=100.0).value
    same(code[0], [np.sin(3), np.cos(3), np.sin(0.3), np.cos(0.3)])


def test_a_rotation_is_a_product_with_a_complex_number():
    x = normal(5, 6)
    turned = (x[:, ::2] + 1j * x[:, 1::2]) * np.exp(1j * angles(np.arange(2.0, 7.0), 6))
    same(rotary(Tensor(x), 2), np.stack([turned.real, turned.imag], -1).reshape(5, 6))
    order = [0, 2, 4, 1, 3, 5]
    same(rotary(Tensor(x[:, order]), 2, halves=True), rotary(Tensor(x), 2).value[:, order])


def test_slopes_of_a_number_of_heads_that_is_no_power_of_two():
    assert alibi_slopes(4) == [2**-2, 2**-4, 2**-6, 2**-8]
    assert alibi_slopes(6) == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]


def test_biases_are_zero_or_the_middle_where_key_and_query_meet():
    same(alibi(1, 2, 3)[0] * 2**8, [[-1, 0, -1], [-2, -1, 0]])
    same(relative(Tensor([[10.0, 20.0, 30.0]]), 2, 4), [[[10, 10, 20, 30], [10, 10, 10, 20]]])
