"""Windows over a token array, with the surface of a tensor of examples."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from gradlab.data import Targets, permutation
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import GradlabError
from gradlab.tasks import Language
from gradlab.training.loop import Training
from gradlab.training.plan import Plan

CPU = torch.device("cpu")


@st.composite
def token_arrays(draw):
    """A length and more tokens than that, as a mapped file has them or as a tensor."""
    length = draw(st.integers(1, 9))
    tokens = np.arange(draw(st.integers(length + 1, 80)), dtype=draw(st.sampled_from([np.uint8, np.uint16, np.uint32])))
    windows = Windows(tokens, length)
    return tokens, windows.resident(CPU) if draw(st.booleans()) else windows


@given(token_arrays())
def test_windows_are_the_tokens_in_order_and_targets_come_one_place_later(case):
    tokens, inputs = case
    length, count = inputs.length, (len(tokens) - 1) // inputs.length
    x, y = inputs[:], inputs.targets[:]
    assert x.dtype == y.dtype == torch.int64
    assert x.shape == y.shape == inputs.shape == (count, length)
    assert len(inputs) == count
    assert x.flatten().tolist() == tokens[: count * length].tolist()
    assert y.flatten().tolist() == tokens[1 : count * length + 1].tolist()
    assert len(tokens) - 1 - count * length < length


@given(token_arrays(), st.data())
def test_any_rows_are_given_in_the_order_asked_for(case, data):
    _, inputs = case
    rows = data.draw(st.lists(st.integers(0, len(inputs) - 1), max_size=12))
    whole, chosen = inputs[:], torch.tensor(rows, dtype=torch.int64)
    assert torch.equal(inputs[chosen], whole[chosen])
    assert torch.equal(inputs[chosen.numpy()], whole[chosen])
    assert torch.equal(inputs.index_select(0, chosen), whole[chosen])
    assert torch.equal(inputs[1:4], whole[1:4])
    assert torch.equal(inputs[::2], whole[::2])
    part = inputs.subset(chosen.numpy())
    assert torch.equal(part[:], whole[chosen])
    assert torch.equal(part.targets[:], inputs.targets[chosen])
    assert torch.equal(part.subset(np.arange(len(part))[::2])[:], whole[chosen][::2])
    assert part.shape == (len(rows), inputs.length)


@given(token_arrays(), st.integers(0, 2**32 - 1), st.integers(0, 1000))
def test_an_epoch_shifts_all_windows_and_is_a_function_of_seed_and_epoch(case, seed, epoch):
    tokens, inputs = case
    shifted, again = inputs.for_epoch(seed, epoch), inputs.for_epoch(seed, epoch)
    assert 0 <= shifted.offset < inputs.length
    assert shifted.offset == again.offset
    assert shifted.shape == inputs.shape
    x, y = shifted[:], shifted.targets[:]
    assert torch.equal(x[:, 1:], y[:, :-1])
    starts = x[:, 0].tolist()  # each token is its own place here
    last = len(tokens) - 1 - inputs.length
    assert starts == [min(shifted.offset + i * inputs.length, last) for i in range(len(inputs))]
    assert int(y.max()) <= len(tokens) - 1


def test_every_offset_occurs_and_epochs_and_seeds_differ():
    inputs = Windows(np.arange(100), 8)
    assert {inputs.for_epoch(0, epoch).offset for epoch in range(100)} == set(range(8))
    of_seeds = [[inputs.for_epoch(seed, epoch).offset for epoch in range(20)] for seed in range(3)]
    assert of_seeds[0] != of_seeds[1] != of_seeds[2]


@given(token_arrays(), st.integers(1, 6), st.integers(0, 5))
def test_strips_go_on_from_step_to_step(case, batch_size, epoch):
    _, inputs = case
    inputs = inputs.for_epoch(0, epoch)
    assume(len(inputs) > batch_size)
    order = inputs.sequential(batch_size)
    steps = [inputs[rows] for rows in order]
    for before, after in pairwise(steps):
        assert torch.equal(before[:, -1] + 1, after[:, 0])
    assert len(set(order.flatten().tolist())) == order.numel()
    assert order.shape == Windows(inputs.tokens, inputs.length).sequential(batch_size).shape
    assert len(inputs) - 1 - order.numel() < batch_size


def test_too_many_strips_are_told():
    inputs = Windows(np.arange(41), 4)
    assert inputs.sequential(9).shape == (1, 9)
    with pytest.raises(GradlabError, match="its 10 windows of 4 tokens do not make 10 strips"):
        inputs.sequential(10)


@pytest.mark.parametrize(
    ("count", "length", "words"),
    [
        (0, 4, "too short: it has 0 tokens, and a context of 4 needs 5"),
        (4, 4, "too short: it has 4 tokens, and a context of 4 needs 5"),
        (4, 0, "at least one token, got 0"),
    ],
)
def test_a_text_shorter_than_the_context_is_told(count, length, words):
    with pytest.raises(GradlabError, match=words) as caught:
        Windows(np.arange(count), length)
    assert "\n" not in str(caught.value)


def test_rows_that_are_not_there_are_errors():
    for inputs in (Windows(np.arange(20), 4), Windows(torch.arange(20), 4)):
        for rows in ([4], [-1], [0, 7]):
            with pytest.raises(IndexError, match="There are 4 windows"):
                inputs[torch.tensor(rows)]
        assert inputs[torch.zeros(0, dtype=torch.int64)].shape == (0, 4)


def test_a_mapped_file_stays_one_and_a_tensor_goes_to_its_device(tmp_path):
    np.save(tmp_path / "tokens.npy", np.arange(1000, dtype=np.uint16))
    mapped = np.load(tmp_path / "tokens.npy", mmap_mode="r")
    inputs = Windows(mapped, 10)
    assert inputs.to(CPU).tokens is mapped
    meta = torch.device("meta")
    assert inputs.to(meta)[:3].device == meta
    resident = inputs.resident(CPU)
    assert resident.tokens.dtype == torch.int32
    assert resident.targets.tokens is resident.tokens
    assert resident.to(meta).device == meta
    assert Windows(mapped.astype(np.uint8), 10).resident(CPU).tokens.dtype == torch.uint8
    assert torch.equal(resident[:], inputs[:])
    assert inputs.nbytes == inputs[:].nbytes == resident.nbytes
    assert inputs.for_epoch(1, 1).resident(CPU).offset == inputs.for_epoch(1, 1).offset


def test_the_training_loop_cuts_its_batches_from_windows(monkeypatch):
    """As it does from tensors, whether an epoch is put in order at once or a batch at a time."""
    inputs = Windows(np.arange(403, dtype=np.uint16), 4)
    examples = WindowExamples.over(inputs)
    task = Language(Targets(tokens=403))
    loop = Training(nn.Embedding(403, 403), task, examples, None, Plan(seed=3, batch_size=32))
    for gathered in (0, 2**22):
        monkeypatch.setattr("gradlab.data.streams._GATHERED", {"cpu": gathered})
        batches = [tuple(batch.values()) for batch in loop.stream.epoch(5)]
        assert [len(x) for x, _ in batches] == [32, 32, 32, 4]
        shuffled = inputs.for_epoch(3, 5)[permutation(100, 3, 5)]
        assert_close(torch.cat([x for x, _ in batches]), shuffled)
        assert_close(torch.cat([y for _, y in batches]), shuffled + 1)
