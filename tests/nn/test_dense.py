import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import Embedding, Linear
from gradlab.verification import verify_like


def test_by_hand():
    layer = Linear(2, 2)
    layer.load_state_dict({"weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "bias": torch.tensor([10.0, 20.0])})
    assert layer(torch.tensor([1.0, -1.0])).tolist() == [9.0, 19.0]


def test_a_batch_of_none_gives_none():
    assert Linear(3, 2)(torch.zeros(4, 0, 3)).shape == (4, 0, 2)
    assert Embedding(3, 2)(torch.zeros(0, dtype=torch.int64)).shape == (0, 2)


def test_an_input_that_is_not_contiguous():
    layer, x = Linear(3, 2), torch.randn(3, 5)
    assert_close(layer(x.T), layer(x.T.contiguous()))


def test_one_index_gives_one_row():
    table = Embedding(4, 3)
    assert_close(table(torch.tensor(2)), table.weight[2])
    assert_close(table(torch.tensor(2, dtype=torch.int32)), table.weight[2])


def test_a_stack_of_layers_without_bends_is_one_layer():
    first, second, third = Linear(3, 5), Linear(5, 4), Linear(4, 2)
    one = Linear(3, 2)
    with torch.no_grad():
        one.weight.copy_(third.weight @ second.weight @ first.weight)
        one.bias.copy_(third.weight @ (second.weight @ first.bias + second.bias) + third.bias)
    x = torch.randn(7, 3)
    assert_close(third(second(first(x))), one(x))


@pytest.mark.parametrize(
    ("ours", "theirs"), [(Linear(3, 2), nn.Linear(3, 2)), (Embedding(3, 2), nn.Embedding(3, 2))], ids=type
)
def test_weights_go_from_torch_to_here_and_back(ours, theirs):
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    assert isinstance(ours, type(theirs))


@pytest.mark.parametrize(
    ("made", "like"),
    [
        (nn.Linear, "dense.linear"),
        (nn.Linear(3, 2), "dense.linear"),
        (nn.Linear(3, 2, bias=False), "dense.linear"),
        (nn.Embedding, "dense.embedding"),
        (nn.Embedding(4, 2), "dense.embedding"),
    ],
    ids=str,
)
def test_torchs_own_layers_are_judged_to_be_alike(made, like):
    verification = verify_like(made, like, {}, "torch's", cases=5)
    assert verification.passed, verification
    assert sum(bool(result.passed) for result in verification.results) >= 3


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Linear(0, 2), "dense.linear: in_features must be int ≥ 1, got 0."),
        (lambda: Linear(2, -1), "dense.linear: out_features must be int ≥ 1, got -1."),
        (lambda: Embedding(0, 2), "dense.embedding: num_embeddings must be int ≥ 1, got 0."),
        (lambda: Embedding(2, 0), "dense.embedding: embedding_dim must be int ≥ 1, got 0."),
    ],
)
def test_a_size_below_one_is_refused(build, words):
    with pytest.raises(GradlabError) as error:
        build()
    assert str(error.value) == words
