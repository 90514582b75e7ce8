"""Networks that read a series and answer once, against PyTorch's layers and what order must mean to them."""

import pytest
import torch
from torch import nn

from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Series

INPUTS = Series(9, 3)


def built(name, **values):
    return build_model(Part(name, values), INPUTS, 5).eval()


@pytest.mark.parametrize(("cell", "kind"), [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_a_recurrent_one_is_torchs_network_and_a_map_of_its_last_state(cell, kind):
    model = built("series-rnn", cell=cell, layers=2, hidden=6)
    twin, x = kind(3, 6, num_layers=2, batch_first=True), torch.randn(4, 9, 3)
    names = [f"{n}_l{i}" for i in range(2) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    values = [p for layer in model.layers for p in layer.parameters()]
    twin.load_state_dict(dict(zip(names, values, strict=True)))
    torch.testing.assert_close(model(x), model.head.output(twin(x)[0][:, -1]))


@pytest.mark.parametrize("name", ["series-rnn", "series-transformer"])
def test_the_shortcut_begins_at_nothing_and_is_linear_in_all_inputs(name):
    torch.manual_seed(0)
    plain = built(name)
    torch.manual_seed(0)
    with_it, x = built(name, shortcut=True), torch.randn(4, 9, 3)
    assert torch.equal(with_it(x), plain(x))
    nn.init.normal_(with_it.head.shortcut.weight)
    torch.testing.assert_close(with_it(x) - plain(x), x.flatten(1) @ with_it.head.shortcut.weight.T, atol=1e-5, rtol=0)


@pytest.mark.parametrize("pooling", ["mean", "last", "all"])
def test_a_transformer_sees_every_step_and_their_order(pooling):
    model, x = built("series-transformer", pooling=pooling), torch.randn(1, 9, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).sum(), x)
    assert (gradient.abs().sum(-1) > 0).all()
    assert not torch.allclose(model(x), model(x.flip(1)), atol=1e-3)


def test_without_positions_the_mean_of_a_transformer_knows_no_order():
    model, x = built("series-transformer"), torch.randn(2, 9, 3)
    nn.init.zeros_(model.position.weight)
    torch.testing.assert_close(model(x), model(x.flip(1)), atol=1e-5, rtol=0)


def test_any_number_of_outputs():
    assert [build_model(Part("series-rnn"), Series(20, 2), n)(torch.zeros(3, 20, 2)).shape[1] for n in (1, 7)] == [1, 7]
