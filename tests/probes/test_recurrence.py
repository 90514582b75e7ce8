"""Recurrent layers step by step, beside the fused kernel and beside a loop over torch's cells."""

import pytest
import torch
from torch import nn

from gradlab.models.language import RecurrentLanguageModel
from gradlab.nn import GRU, LSTM, RNN
from gradlab.probes import record, recurrences

LAYERS = {"rnn": (nn.RNN, nn.RNNCell), "lstm": (nn.LSTM, nn.LSTMCell), "gru": (nn.GRU, nn.GRUCell)}


def last_of(output):
    """What a loss of the last step alone sees."""
    return output[0][:, -1].square().sum()


def everywhere(output):
    return (output[0] ** 3).sum() + sum(part.sin().sum() for part in _parts(output[1]))


def _parts(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_states_are_those_of_the_fused_kernel(kind, bidirectional, bias):
    layer = LAYERS[kind][0](3, 4, 2, bias=bias, batch_first=True, bidirectional=bidirectional)
    seen = record(layer, torch.randn(2, 6, 3))
    (found,) = recurrences(seen)
    top = torch.cat(list(found.hidden[-2 if bidirectional else -1 :]), -1)
    torch.testing.assert_close(top, seen.output[0], rtol=0, atol=1e-6)
    ends = torch.stack(
        [h[:, 0 if "backwards" in name else -1] for h, name in zip(found.hidden, found.labels, strict=True)]
    )
    torch.testing.assert_close(ends, _parts(seen.output[1])[0], rtol=0, atol=1e-6)
    assert found.gradient is None


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("loss", [last_of, everywhere])
def test_gradients_are_those_of_autograd_on_a_loop_over_cells(kind, loss):
    made, cell_of = LAYERS[kind]
    layer, cell = made(3, 4, batch_first=True), cell_of(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = torch.randn(2, 6, 3)
    state, steps = None, []
    for t in range(6):
        state = cell(x[:, t], state)
        steps.append(_parts(state)[0])
    ends = tuple(part[None] for part in _parts(state))
    output = torch.stack(steps, 1), ends if kind == "lstm" else ends[0]
    wanted = torch.autograd.grad(loss(output), steps)
    (found,) = recurrences(record(layer, x, loss=loss))
    norms = torch.stack([gradient.norm() for gradient in wanted]).double()
    torch.testing.assert_close(found.gradient[0], norms, rtol=1e-4, atol=1e-7)
    if loss is last_of:
        torch.testing.assert_close(found.reach, found.gradient)
    else:
        assert (found.reach[0, :-1] < found.gradient[0, :-1]).all()


def test_reach_is_of_the_last_step_that_the_loss_sees():
    layer, x = nn.RNN(3, 4, batch_first=True), torch.randn(2, 6, 3)
    (early,) = recurrences(record(layer, x, loss=lambda output: output[0][:, :4].square().sum()))
    (wanted,) = recurrences(record(layer, x, loss=lambda output: output[0][:, 3].square().sum()))
    torch.testing.assert_close(early.reach, wanted.reach)
    assert early.reach[0, 3] > 0 == early.reach[0, 4:].max()


def test_gates_are_open_where_their_biases_say_so():
    lstm = LSTM(3, 4, batch_first=True)
    with torch.no_grad():
        lstm.bias_ih_l0[4:8] = 50.0  # forget: all is kept
        lstm.bias_ih_l0[:4] = -50.0  # input: nothing comes in
    (found,) = recurrences(record(lstm, torch.randn(2, 6, 3)))
    assert found.gates["forget"].min() > 0.999
    assert found.gates["input"].max() < 0.001
    assert found.gates["forget"].shape == (1, 2, 6, 4)
    (found,) = recurrences(record(GRU(3, 4), torch.randn(6, 2, 3)))
    assert set(found.gates) == {"reset", "update"}
    assert recurrences(record(RNN(3, 4), torch.randn(6, 2, 3)))[0].gates == {}


def test_the_gradient_of_a_contracting_network_vanishes_by_time():
    layer = nn.RNN(3, 4, batch_first=True)
    layer.weight_hh_l0.data *= 0.2
    (found,) = recurrences(record(layer, torch.randn(2, 20, 3), loss=last_of))
    assert (found.reach[0].diff() > 0).all()
    assert found.reach[0, 0] < 1e-6 * found.reach[0, -1]


def test_a_state_to_begin_with_is_taken_along():
    layer, x, h = nn.GRU(3, 4), torch.randn(6, 2, 3), torch.randn(1, 2, 4)
    seen = record(layer, (x, h))
    torch.testing.assert_close(recurrences(seen)[0].hidden[0].transpose(0, 1), seen.output[0], rtol=0, atol=1e-6)
    unbatched = record(nn.LSTM(3, 4), torch.randn(6, 3))
    torch.testing.assert_close(recurrences(unbatched)[0].hidden[0, 0], unbatched.output[0], rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_what_cannot_be_shown_is_left_out():
    padded = record(GRU(3, 4, batch_first=True), {"x": torch.randn(2, 6, 3), "lengths": torch.tensor([6, 2])})
    assert recurrences(padded) == []
    assert recurrences(record(nn.LSTM(3, 4, proj_size=2), torch.randn(6, 2, 3))) == []
    assert recurrences(record(nn.Linear(3, 4), torch.randn(6, 3))) == []


def test_a_language_model_has_its_layers():
    model = RecurrentLanguageModel(10, dim=8, layers=2, cell="lstm")
    found = recurrences(record(model, torch.randint(10, (2, 6)), loss=lambda logits: logits.logsumexp(-1).sum()))
    assert [layer.name for layer in found] == ["layers.0", "layers.1"]
    assert all(layer.reach.shape == (1, 6) for layer in found)
