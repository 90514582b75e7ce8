"""Sequences of different lengths: padding, masks, and batches of similar ones."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.text import sequences as module
from gradlab.data.text.sequences import Padded, PaddedExamples, Sequences, length_batches
from gradlab.errors import GradlabError

LISTS = st.lists(st.lists(st.integers(1, 99), max_size=7), min_size=1, max_size=9)


@given(LISTS, st.data())
def test_rows_come_padded_with_a_mask_of_what_is_real(lists, data):
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=9))
    tokens, mask = Sequences.of(lists, padding=0)[torch.tensor(rows, dtype=torch.int64)]
    assert tokens.shape == mask.shape == (len(rows), max((len(lists[r]) for r in rows), default=0))
    assert [row[real].tolist() for row, real in zip(tokens, mask, strict=True)] == [lists[r] for r in rows]
    assert not tokens[~mask].any()
    assert (mask[:, 1:] <= mask[:, :-1]).all()  # what is real comes first


def test_documents_of_a_token_array_are_sequences():
    sequences = Sequences(np.arange(10, dtype=np.uint8), np.array([0, 4, 9]), padding=99)
    assert sequences.lengths.tolist() == [4, 5, 1]
    assert sequences[torch.tensor([2, 0])][0].tolist() == [[9, 99, 99, 99], [0, 1, 2, 3]]
    assert len(sequences) == 3


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 7), st.integers(0, 9), st.integers(0, 9))
def test_batches_have_each_row_once_and_depend_on_seed_and_epoch_alone(lengths, batch_size, seed, epoch):
    lengths = np.array(lengths, dtype=np.int64)
    batches = length_batches(lengths, batch_size, seed, epoch)
    assert sorted(torch.cat([*batches, torch.zeros(0, dtype=torch.int64)]).tolist()) == list(range(len(lengths)))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    again = length_batches(lengths, batch_size, seed, epoch)
    assert all(torch.equal(one, other) for one, other in zip(batches, again, strict=True))


def test_a_batch_has_little_padding_and_epochs_have_other_batches(rng):
    lengths = rng.integers(1, 100, size=20_000)
    epochs = [length_batches(lengths, 32, 0, epoch) for epoch in range(2)]
    for batches in epochs:
        padded = sum(len(batch) * lengths[batch.numpy()].max() for batch in batches)
        assert padded / lengths.sum() < 1.03
    of_epochs = [{tuple(sorted(batch.tolist())) for batch in batches} for batches in epochs]
    assert not of_epochs[0] & of_epochs[1]
    longest = [lengths[batch.numpy()].max() for batch in epochs[0]]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.1  # in no order of length


def test_only_rows_of_a_pool_come_together(monkeypatch):
    monkeypatch.setattr(module, "_POOL", 2)
    batches = length_batches(np.arange(12), 3, 0, 0)
    assert len(batches) == 4
    assert any(np.ptp(batch.numpy()) > 2 for batch in batches)


def test_what_makes_no_batches_is_told():
    with pytest.raises(GradlabError, match="at least one example, got 0"):
        length_batches(np.array([1]), 0, 0, 0)
    with pytest.raises(GradlabError, match="There are no sequences"):
        Sequences.of([], padding=0)


def padded(lists, longest):
    sequences = Sequences.of(lists, padding=0)
    return Padded.of(sequences.tokens, sequences.starts, longest)


@given(LISTS, st.integers(1, 40), st.data())
def test_texts_come_cut_and_padded_to_the_next_of_sixteen_widths(lists, longest, data):
    lists = [each or [1] for each in lists]
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), min_size=1, max_size=9))
    inputs = padded(lists, longest)
    tokens = inputs[torch.tensor(rows)]
    needed = max(min(len(lists[r]), longest) for r in rows)
    assert needed <= tokens.shape[1] <= min(longest, needed + longest // 16 + 1)
    assert [row[row != 0].tolist() for row in tokens] == [lists[r][:longest] for r in rows]
    assert torch.equal(inputs.subset(np.array(rows))[:], tokens)
    assert inputs.shape == (len(lists), longest)


def test_there_are_at_most_sixteen_widths():
    inputs = padded([[1] * length for length in range(1, 301)], 256)
    assert len({inputs[torch.tensor([row])].shape[1] for row in range(300)}) == 16


def test_the_order_of_texts_splits_into_batches_of_similar_lengths(rng):
    lists = [[1] * int(length) for length in rng.integers(1, 101, size=998)]
    examples = PaddedExamples.of(padded(lists, 100), torch.zeros(998, dtype=torch.int64), np.arange(998))
    order = examples.order(0, 3, 16)
    assert sorted(order.tolist()) == list(range(998))
    widths = [examples.inputs.lengths[batch] for batch in torch.split(order, 16)]
    assert np.median([np.ptp(each) for each in widths]) <= 3
    assert torch.equal(order, examples.order(0, 3, 16))
    assert not torch.equal(order, examples.order(0, 4, 16))
