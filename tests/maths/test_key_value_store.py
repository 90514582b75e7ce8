"""A store of values by keys that are vectors."""

import math

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.key_value_store import KeyValueStore
from gradlab.nn.attention import HardAttention


def filled():
    store = KeyValueStore()
    for i in range(3):
        store.put(torch.eye(3)[i], torch.tensor([10.0 * i, 1.0]))
    return store


def test_what_was_put_is_there_until_it_is_removed():
    store = filled()
    assert store.get([0, 1, 0]).tolist() == [10, 1]
    store.put([0.0, 1.0, -0.0], [7.0, 7.0])
    assert len(store) == 3
    assert store.get([0, 1, 0]).tolist() == [7, 7]
    store.remove([0, 1, 0])
    assert len(store) == 2
    for action in (store.get, store.remove):
        with pytest.raises(GradlabError, match=r"No key \[0.0, 1.0, 0.0\] is stored"):
            action([0, 1, 0])


def test_a_soft_lookup_is_attention():
    store = filled()
    weights = [math.exp(q) for q in (1.0, 0.5, 0.0)]
    wanted = (10 * weights[1] + 20 * weights[2]) / sum(weights)
    assert store.lookup([1.0, 0.5, 0.0]).tolist() == pytest.approx([wanted, 1.0])
    assert store.lookup(torch.eye(3), HardAttention()).tolist() == [[0, 1], [10, 1], [20, 1]]
    query = torch.zeros(3, requires_grad=True)
    store.lookup(query)[0].backward()
    assert query.grad.tolist() == pytest.approx([-10 / 3, 0, 10 / 3])  # p (v - mean v)


def test_what_does_not_fit_is_refused():
    store = filled()
    with pytest.raises(GradlabError, match="have 3 and 2 numbers, and these have 2 and 2"):
        store.put([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(GradlabError, match="are vectors"):
        store.put(1.0, [1.0])
    with pytest.raises(GradlabError, match="empty store"):
        KeyValueStore().lookup([1.0])
