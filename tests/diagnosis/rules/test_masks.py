"""Masks that hide all but the padding, and masks that only look like it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from trainings import adam, fit, found, grave, watching

from gradlab.diagnosis.watching.masks import _only_padding


def padded(rows: int = 128, length: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Words 1 to 9 with zeros after them; the class is that of the first word."""
    ids = torch.randint(1, 10, (rows, length))
    ids[torch.arange(length) >= torch.randint(2, length, (rows, 1))] = 0
    return ids, ids[:, 0] % 3


class Words(nn.Module):
    """Attention over words, or over vectors that stand for them."""

    def __init__(self, upside_down: bool, batch_first: bool, minus_infinity: bool, vectors: bool):
        super().__init__()
        self.upside_down, self.batch_first, self.minus_infinity = upside_down, batch_first, minus_infinity
        self.words = nn.Linear(10, 12) if vectors else nn.Embedding(10, 12)
        self.places = nn.Parameter(torch.randn(8, 12) / 10)
        self.attention = nn.MultiheadAttention(12, 2, batch_first=batch_first)
        self.out = nn.Linear(12, 3)

    def forward(self, ids):
        mask = ids != 0 if self.upside_down else ids == 0
        if self.minus_infinity:
            mask = torch.zeros(mask.shape).masked_fill(mask, -torch.inf)
        h = self.words(F.one_hot(ids, 10).float() if isinstance(self.words, nn.Linear) else ids) + self.places
        h = h if self.batch_first else h.transpose(0, 1)
        h = h + self.attention(h, h, h, key_padding_mask=mask)[0]
        return self.out(h[:, 0] if self.batch_first else h[0])


@pytest.mark.parametrize("upside_down", [True, False])
@pytest.mark.parametrize(
    ("batch_first", "minus_infinity", "vectors"),
    [(True, False, False), (False, False, False), (True, True, False), (True, False, True)],
)
def test_a_mask_that_hides_all_words(upside_down, batch_first, minus_infinity, vectors):
    ids, y = padded()
    with watching() as doctor:
        fit(Words(upside_down, batch_first, minus_infinity, vectors), F.cross_entropy, ids, y, make=adam)
    if not upside_down:
        assert not grave(doctor)
        return
    finding = found(doctor, "inverted_padding_mask")
    assert finding.where.endswith("attention")
    assert finding.measured["hidden"] == pytest.approx(float((ids != 0).float().mean()), abs=0.1)


@pytest.mark.parametrize("times_first", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_what_is_left_must_be_runs_of_one_value_that_is_hidden_nowhere(left, times_first):
    ids = torch.tensor([[4, 2, 0, 0], [5, 0, 0, 0], [3, 7, 2, 0]])

    def judged(rows: torch.Tensor, hidden: torch.Tensor) -> bool:
        rows, hidden = (rows.flip(1), hidden.flip(1)) if left else (rows, hidden)
        return _only_padding(hidden, rows.T if times_first else rows)

    assert judged(ids, ids != 0)
    assert not judged(ids, ids == 0)
    assert not judged(ids, torch.arange(4).expand(3, 4) < 3)  # one end for all rows: no padding, but a mark
    assert not judged(ids, torch.ones(3, 4, dtype=torch.bool))
    words_between = torch.tensor([[4, 0, 2, 0], [5, 0, 0, 0], [3, 7, 2, 0]])
    assert not judged(words_between, words_between != 0)
    also_hidden = torch.tensor([[4, 2, 0, 0], [5, 0, 0, 0], [3, 7, 0, 0]])
    assert not judged(also_hidden, ids != 0)


class LastWord(nn.Module):
    """A plain recurrent layer, whose state is read at the end of all places or of each row."""

    def __init__(self, of_row: bool):
        super().__init__()
        self.of_row = of_row
        self.words, self.rnn, self.out = nn.Embedding(10, 8), nn.RNN(8, 12, batch_first=True), nn.Linear(12, 3)

    def forward(self, ids):
        states = self.rnn(self.words(ids))[0]
        last = (ids != 0).sum(1) - 1 if self.of_row else torch.full((len(ids),), ids.shape[1] - 1)
        return self.out(states[torch.arange(len(ids)), last])


@pytest.mark.parametrize("of_row", [False, True])
def test_an_answer_that_is_read_after_the_padding(of_row):
    torch.manual_seed(1)
    ids, y = padded()
    y = y[torch.randperm(len(y))] if of_row else y  # nothing to learn either, but for another reason
    with watching() as doctor:
        fit(LastWord(of_row), F.cross_entropy, F.pad(ids, (0, 30)), y, make=adam, steps=60)
    if of_row:
        assert grave(doctor, "answer_after_padding") == []
    else:
        assert found(doctor, "answer_after_padding").measured["padding"] > 0.8
        assert grave(doctor, "vanishing_gradient") == []
