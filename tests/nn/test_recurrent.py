"""What holds of the recurrent blocks beyond the checks that all blocks have."""

import copy
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell, ShapeError, truncated

SEQUENCES = {RNN: nn.RNN, LSTM: nn.LSTM, GRU: nn.GRU}
CELLS = {RNNCell: nn.RNNCell, LSTMCell: nn.LSTMCell, GRUCell: nn.GRUCell}
every_sequence = pytest.mark.parametrize("made", SEQUENCES, ids=lambda made: made.__name__)
every_block = pytest.mark.parametrize("made", [*SEQUENCES, *CELLS], ids=lambda made: made.__name__)
open_gate = 1000.0


def inputs(made, *, steps=4, batch=3, dtype=torch.float64):
    return torch.randn((batch, 2) if made in CELLS else (steps, batch, 2), dtype=dtype)


def first(value):
    """The outputs of a block: of a sequence, or h of a cell."""
    return value if isinstance(value, torch.Tensor) else value[0]


# Weights are PyTorch's


@every_sequence
@pytest.mark.parametrize("bias", [True, "one", False])
@pytest.mark.parametrize("shape", [{}, {"num_layers": 2, "bidirectional": True}])
def test_state_dicts_go_to_torch_and_come_back(made, bias, shape):
    ours, torchs = made(2, 5, bias=bias, **shape), SEQUENCES[made](2, 5, bias=bool(bias), **shape)
    assert set(ours.state_dict()) == set(torchs.state_dict())
    torchs.load_state_dict(ours.state_dict())
    x = inputs(made, dtype=torch.float32)
    assert_close(ours(x), torchs(x))
    other = made(2, 5, bias=bias, **shape)
    other.load_state_dict(torchs.state_dict())
    assert_close(other(x), torchs(x))


def test_the_network_of_the_course_has_eight_parameters():
    net = RNN(10, 20, 2)
    assert [tuple(p.shape) for p in net.parameters()] == [
        *((20, 10), (20, 20), (20,), (20,)),
        *((20, 20), (20, 20), (20,), (20,)),
    ]
    outputs, last = net(torch.randn(5, 3, 10), torch.randn(2, 3, 20))
    assert outputs.shape == (5, 3, 20)
    assert last.shape == (2, 3, 20)


# One bias


@every_block
def test_with_one_bias_that_of_the_state_is_zero_and_never_learned(made):
    block = made(2, 5, bias="one").double()
    assert {name.split("_l")[0] for name, _ in block.named_parameters()} == {"weight_ih", "weight_hh", "bias_ih"}
    two = made(2, 5).double()
    two.load_state_dict(block.state_dict())
    assert not any(w.any() for name, w in two.named_parameters() if name.startswith("bias_hh"))
    x = inputs(made)
    assert_close(first(block(x)), first(two(x)))
    for either in (block, two):
        first(either(x)).square().sum().backward()
    for name, parameter in block.named_parameters():
        assert_close(parameter.grad, dict(two.named_parameters())[name].grad)


@every_block
def test_one_bias_survives_copying_and_conversion(made):
    block = made(2, 5, bias="one")
    x = inputs(made, dtype=torch.float32)
    other = copy.deepcopy(block)
    assert_close(first(other(x)), first(block(x)))
    assert len(list(other.double().parameters())) == 3
    assert_close(first(other(x.double())).float(), first(block(x)), atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert not first(other(x.double())).any()  # the copy has weights of its own, and uses them


# Worked examples


def test_a_saturated_lstm_counts_to_a_hundred():
    net = LSTM(1, 1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.bias_ih_l0.fill_(open_gate)
    _, (h, c) = net(torch.zeros(100, 1, 1))
    assert c.item() == 100
    assert h.item() == 1


def test_eigenvalues_below_one_do_not_keep_gradients_from_growing():
    """Both Jacobians have eigenvalues of 0.5, and yet the gradient grows sixteenfold: their norms are above 1."""
    a, b = torch.tensor([[0.5, 4.0], [0.0, 0.5]]), torch.tensor([[0.5, 0.0], [4.0, 0.5]])
    cells = [RNNCell(1, 2, bias=False, nonlinearity="relu") for _ in range(2)]
    for cell, weight in zip(cells, (a, b), strict=True):
        cell.load_state_dict({"weight_ih": torch.zeros(2, 1), "weight_hh": weight})

    def two_steps(h):
        for cell in cells:
            h = cell(torch.zeros(1, 1), h[None])[0]
        return h

    jacobian = torch.func.jacrev(two_steps)(torch.ones(2))
    assert_close(jacobian, b @ a)
    assert torch.linalg.eigvals(jacobian).abs().max() > 16


# Lengths


@every_sequence
@pytest.mark.parametrize("bidirectional", [False, True])
def test_nan_in_the_padding_reaches_neither_outputs_nor_gradients(made, bidirectional):
    block = made(2, 3, num_layers=2, bidirectional=bidirectional).double()
    x, lengths = inputs(made), torch.tensor([2, 4, 1])
    x[torch.arange(4)[:, None] >= lengths] = float("nan")
    outputs, last = block(x.requires_grad_(), lengths=lengths)
    (outputs.sum() + first(last).sum()).backward()
    assert not outputs[torch.arange(4)[:, None] >= lengths].any()
    for value in (outputs, first(last), x.grad, *(p.grad for p in block.parameters())):
        assert value.isfinite().all()


@every_sequence
def test_lengths_may_be_of_any_whole_type_and_of_an_empty_batch(made):
    block, x = made(2, 3), torch.randn(4, 2, 2)
    assert_close(block(x, lengths=torch.tensor([1, 3], dtype=torch.int32)), block(x, lengths=torch.tensor([1, 3])))
    outputs, _ = block(x[:, :0], lengths=torch.zeros(0, dtype=torch.int64))
    assert outputs.shape == (4, 0, 3)


@every_sequence
def test_inputs_need_not_be_contiguous(made):
    block, x = made(2, 3, batch_first=True), torch.randn(4, 3, 2).transpose(0, 1)
    for lengths in (None, torch.tensor([1, 4, 2])):
        assert_close(block(x, lengths=lengths), block(x.contiguous(), lengths=lengths))


# Extremes


@every_block
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_huge_inputs_give_no_nan(made, dtype):
    block, x = made(2, 3).to(dtype), (1e30 * inputs(made)).to(dtype).requires_grad_()
    outputs = first(block(x))
    outputs.sum().backward()
    for value in (outputs, x.grad, *(p.grad for p in block.parameters())):
        assert value.isfinite().all()


@every_sequence
def test_dropout_is_for_training_and_between_layers(made):
    block, x = made(2, 3, num_layers=2, dropout=0.5), torch.randn(4, 3, 2)
    assert not torch.equal(block(x)[0], block(x)[0])
    assert block(x)[0].ne(0).all()  # what the last layer gives out is never dropped
    block.eval()
    assert torch.equal(block(x)[0], block(x)[0])


# Compiling and torch.func


@every_sequence
def test_where_autocast_means_float16_bf16_means_float32(made, monkeypatch):
    """As on CUDA, whose gradients in float16 would be lost."""
    from gradlab.nn.recurrent import sequences

    block, x, lengths = made(3, 4), torch.randn(7, 5, 3), torch.tensor([7, 1, 4, 2, 2])
    plain = block(x, lengths=lengths)
    with torch.autocast("cpu", torch.bfloat16):
        assert not torch.equal(block(x, lengths=lengths)[0], plain[0])
        monkeypatch.setattr(sequences, "_ALWAYS_HALF", ("cpu",))
        assert_close(block(x, lengths=lengths), plain, rtol=0, atol=0)
        outputs, state = block(x.bfloat16())
        state = state.bfloat16() if isinstance(state, torch.Tensor) else tuple(s.bfloat16() for s in state)
        assert outputs.dtype == block(x.bfloat16(), state)[0].dtype == torch.float32


@every_sequence
def test_weights_of_a_copy_are_laid_together_for_the_kernel(made, monkeypatch):
    laid = []
    block = made(3, 4)
    monkeypatch.setattr(nn.RNNBase, "flatten_parameters", lambda self: laid.append(self._flat_weights[0]))
    copied = copy.deepcopy(block)
    assert laid[-1] is copied.weight_ih_l0


@every_sequence
def test_compiling_breaks_the_graph_and_leaves_the_values(made):
    torch._dynamo.reset()
    block, x = made(2, 3), torch.randn(4, 3, 2)
    assert_close(torch.compile(block, backend="aot_eager")(x), block(x))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(block, backend="aot_eager", fullgraph=True)(x)


@every_sequence
@pytest.mark.parametrize("bias", [True, "one"])
def test_sequences_are_functions_of_their_parameters_for_torch_func(made, bias):
    block, x = made(2, 3, bias=bias).double(), inputs(made)
    values = dict(block.named_parameters())

    def total(values):
        return torch.func.functional_call(block, values, (x,))[0].sum()

    by_autograd = torch.autograd.grad(total(values), list(values.values()))
    assert_close(tuple(torch.func.grad(total)(values).values()), by_autograd)


# Truncation


def test_a_hundred_steps_in_chunks_of_twenty():
    block, x = RNN(2, 3).double(), torch.randn(100, 1, 2, dtype=torch.float64)
    chunks = list(truncated(block, x, steps=20))
    assert_close(torch.cat([outputs for outputs, _ in chunks]), block(x)[0])
    summed = sum(torch.autograd.grad(outputs.sum(), block.weight_hh_l0)[0] for outputs, _ in chunks)
    starts = [None, *(state.detach() for _, state in chunks)]
    by_hand = sum(
        torch.autograd.grad(block(x[a:b], state)[0].sum(), block.weight_hh_l0)[0]
        for (a, b), state in zip(pairwise(range(0, 101, 20)), starts, strict=False)
    )
    assert_close(summed, by_hand)
    assert not torch.allclose(summed, torch.autograd.grad(block(x)[0].sum(), block.weight_hh_l0)[0])


def test_weights_may_change_between_chunks():
    block, x = LSTM(2, 3, batch_first=True), torch.randn(5, 7, 2)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    lengths = []
    for outputs, _ in truncated(block, x, steps=3):
        outputs.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        lengths.append(outputs.shape[1])
    assert lengths == [3, 3, 1]


@pytest.mark.parametrize(
    ("settings", "steps", "message"),
    [({"bidirectional": True}, 2, "must not be bidirectional"), ({}, 0, "steps must be at least 1, got 0")],
)
def test_what_cannot_be_cut_is_told(settings, steps, message):
    with pytest.raises(GradlabError, match=message):
        next(truncated(GRU(2, 3, **settings), torch.randn(4, 1, 2), steps))


# Errors


@every_block
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"input_size": 0}, "input_size must be int ≥ 1, got 0"),
        ({"hidden_size": -1}, "hidden_size must be int ≥ 1, got -1"),
        ({"bias": "two"}, r"bias must be bool \| one, got 'two'"),
    ],
)
def test_bad_settings_of_any_block_are_told(made, settings, message):
    with pytest.raises(GradlabError, match=rf"^recurrent\.\w+: {message}\.$"):
        made(**{"input_size": 2, "hidden_size": 3} | settings)


@every_sequence
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be int ≥ 1, got 0"),
        ({"dropout": 1.5, "num_layers": 2}, "dropout must be float ≥ 0 ≤ 1, got 1.5"),
    ],
)
def test_bad_settings_of_sequences_are_told(made, settings, message):
    with pytest.raises(GradlabError, match=rf"^recurrent\.\w+: {message}"):
        made(2, 3, **settings)


@pytest.mark.parametrize("made", [RNN, RNNCell])
def test_an_unknown_nonlinearity_is_told(made):
    with pytest.raises(GradlabError, match=r"nonlinearity must be tanh \| relu, got 'gelu'"):
        made(2, 3, nonlinearity="gelu")


@every_sequence
def test_bad_inputs_of_sequences_are_told(made):
    block, x = made(2, 3), torch.randn(4, 5, 2)
    with pytest.raises(ShapeError, match="at least one step"):
        block(x[:0])
    with pytest.raises(GradlabError, match="lengths must be from 1 to the 4 steps of x, got 0 to 4"):
        block(x, lengths=torch.tensor([0, 4, 1, 1, 1]))
    with pytest.raises(GradlabError, match="lengths must be from 1 to the 4 steps of x, got 1 to 5"):
        block(x, lengths=torch.tensor([5, 4, 1, 1, 1]))
    with pytest.raises(ShapeError, match=r"lengths must have shape \(batch=5\), got \(4,\)"):
        block(x, lengths=torch.ones(4, dtype=torch.int64))
    state = torch.zeros(1, 4, 3)
    with pytest.raises(ShapeError, match=r"shape \(num_states=1, batch=5, hidden_size=3\), got \(1, 4, 3\)"):
        block(x, (state, state) if made is LSTM else state)


def test_a_bad_state_of_an_lstm_cell_is_told():
    with pytest.raises(
        ShapeError, match=r"^LSTMCell: a state must have shape \(batch=5, hidden_size=3\), got \(4, 3\)"
    ):
        LSTMCell(2, 3)(torch.randn(5, 2), (torch.zeros(5, 3), torch.zeros(4, 3)))
