"""The recurrent classifier: its equations, by torch's packed sequences, and padding that changes nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from gradlab.models import RecurrentClassifier
from gradlab.models.language.recurrent_classifier import turned

CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def classifier(**options):
    torch.manual_seed(0)
    return RecurrentClassifier(11, 3, **{"dim": 5, "layers": 2, "hidden": 4, **options}).double().eval()


def padded(texts, more=0):
    width = max(map(len, texts)) + more
    return torch.tensor([[*text, *[0] * (width - len(text))] for text in texts])


def torchs(model):
    """The same weights in torch's own stack of layers."""
    chosen = model.settings
    theirs = CELLS[chosen.cell](5, 4, 2, batch_first=True, bidirectional=chosen.bidirectional).double()
    weights = {}
    for suffix, layers in (("", model.layers), ("_reverse", model.backwards or [])):
        for i, layer in enumerate(layers):
            weights |= {name.replace("_l0", f"_l{i}{suffix}"): w for name, w in layer.state_dict().items()}
    theirs.load_state_dict(weights)
    return theirs


TEXTS = st.lists(st.lists(st.integers(1, 10), min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize("pooling", ["last", "mean"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_it_is_torchs_packed_network_and_a_linear_map(cell, bidirectional, pooling):
    model = classifier(cell=cell, bidirectional=bidirectional, pooling=pooling)
    texts = [[1, 2, 3, 4, 5], [6], [7, 8, 9]]
    lengths = torch.tensor([len(text) for text in texts])
    packed = pack_padded_sequence(model.embedding(padded(texts)), lengths, batch_first=True, enforce_sorted=False)
    outputs, last = torchs(model)(packed)
    if pooling == "mean":
        features = pad_packed_sequence(outputs, batch_first=True)[0].sum(1) / lengths[:, None]
    else:
        h = last[0] if cell == "lstm" else last
        features = torch.cat([h[-2], h[-1]], 1) if bidirectional else h[-1]
    assert_close(model(padded(texts, more=2)), features @ model.head.weight.T + model.head.bias)


@settings(max_examples=30, deadline=None)
@given(
    texts=TEXTS,
    more=st.integers(0, 5),
    cell=st.sampled_from(sorted(CELLS)),
    bidirectional=st.booleans(),
    pooling=st.sampled_from(["last", "mean"]),
)
def test_padding_changes_neither_outputs_nor_gradients(texts, more, cell, bidirectional, pooling):
    model = classifier(cell=cell, bidirectional=bidirectional, pooling=pooling)
    together = model(padded(texts, more))
    alone = torch.cat([model(torch.tensor([text])) for text in texts])
    assert_close(together, alone)
    weights = list(model.parameters())
    losses = (together.square().sum(), alone.square().sum())
    for ours, expected in zip(*(torch.autograd.grad(loss, weights) for loss in losses), strict=True):
        assert_close(ours, expected)


def test_every_token_is_heard_in_both_directions():
    for pooling in ("last", "mean"):
        model = classifier(bidirectional=True, pooling=pooling)
        text = torch.tensor([[1, 2, 3, 4]])
        for place in range(4):
            other = text.clone()
            other[0, place] = 9
            assert not torch.allclose(model(other), model(text))


def test_a_text_of_padding_alone_has_finite_outputs_however_long_it_is():
    model = classifier(bidirectional=True, pooling="mean")
    short, long = (model(torch.zeros(2, n, dtype=torch.int64)) for n in (1, 5))
    assert_close(short, long)
    assert short.isfinite().all()


def test_a_sequence_is_turned_within_its_length_and_back_again():
    x = torch.randn(3, 6, 2)
    lengths = torch.tensor([6, 1, 4])
    back = turned(x, lengths)
    for row, length in enumerate(lengths):
        assert torch.equal(back[row, :length], x[row, :length].flip(0))
    assert torch.equal(turned(back, lengths), x)
