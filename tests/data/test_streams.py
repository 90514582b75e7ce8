"""Where batches come from: pass after pass over examples, for one process or shared by several."""

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gradlab.data import Epochs, Examples, Stream, permutation
from gradlab.data import streams as module
from gradlab.data.text.masking import Masked
from gradlab.data.text.sequences import Padded, PaddedExamples
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.training.plan import Plan


def numbered(count):
    """Examples that say which they are, in each of their columns."""
    rows = torch.arange(count)
    return Examples({"inputs": rows.view(-1, 1) * 1.0, "targets": rows, "weights": rows + 0.5}, np.arange(count))


def windows(count):
    return WindowExamples.over(Windows(np.arange(count * 4 + 1, dtype=np.uint16), 4))


def masked(count):
    inputs = Windows(np.arange(count * 4 + 1, dtype=np.uint16) + 1, 4)
    return WindowExamples.over(Masked(windows=inputs, chosen=2, mask=0, first=1, vocabulary=count * 4 + 2))


def padded(count):
    lengths = np.random.default_rng(0).integers(1, 30, count)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    tokens = np.arange(lengths.sum(), dtype=np.uint32) + 1
    return PaddedExamples.of(Padded.of(tokens, starts, 30), torch.arange(count))


KINDS = {"arrays": numbered, "windows": windows, "masked windows": masked, "padded texts": padded}


def stream(examples, batch_size=4, seed=7, part=(0, 1)):
    sizes = Plan(batch_size=batch_size).batch_sizes(len(examples))
    return Epochs(examples, min(batch_size, len(examples)), sizes, seed, part)


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(params=[None, 100, 0], ids=["gathered", "in groups", "batch by batch"])
def gathered(request, monkeypatch):
    """All ways to read an epoch."""
    if request.param is not None:
        monkeypatch.setattr(module, "_GATHERED", {"cpu": request.param})


@pytest.mark.usefixtures("gathered")
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("count", [1, 3, 4, 12, 13, 14])
def test_an_epoch_is_the_order_of_its_examples_cut_into_batches(kind, count):
    examples = KINDS[kind](count)
    batches = stream(examples).batches(0)
    for epoch in range(3):
        now = examples.for_epoch(7, epoch)
        rows = now.order(7, epoch, min(4, count))
        if kind != "padded texts":
            assert torch.equal(rows, permutation(count, 7, epoch))
        for some in rows.split(Plan(batch_size=4).batch_sizes(count)):
            assert equal(next(batches), {name: part[some] for name, part in now.parts.items()})


@pytest.mark.usefixtures("gathered")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_batches_from_any_step_on_are_the_rest_of_those_from_the_first(kind):
    examples = KINDS[kind](14)
    whole = list(islice(stream(examples).batches(0), 13))
    for step in range(13):
        rest = list(islice(stream(examples).batches(step), 13 - step))
        assert all(equal(one, other) for one, other in zip(rest, whole[step:], strict=True))


def test_as_many_batches_are_read_together_as_have_room(monkeypatch):
    monkeypatch.setattr(module, "_GATHERED", {"cpu": 8 * 10})  # of 14 numbers of 8 bytes, in four batches
    examples, read = numbered(14), []
    select = Examples.select
    monkeypatch.setattr(Examples, "select", lambda self, *rows: read.append(len(rows[0])) or select(self, *rows))
    assert [len(batch["inputs"]) for batch in stream(examples).epoch(0)] == [4, 4, 4, 2]
    assert read == [8, 6]


def test_another_seed_gives_another_order_and_drawing_elsewhere_changes_nothing():
    examples = numbered(40)
    first, again, other = (next(stream(examples, seed=seed).batches(0))["targets"] for seed in (1, 1, 2))
    torch.rand(5)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(st.integers(1, 30), st.integers(1, 9), st.integers(2, 5))
def test_the_parts_of_all_processes_are_the_batch(kind, count, batch_size, processes):
    examples = KINDS[kind](count)
    whole = stream(examples, batch_size)
    parts = [stream(examples, batch_size, part=(rank, processes)) for rank in range(processes)]
    assert {part.steps_per_epoch for part in parts} == {whole.steps_per_epoch}
    for batch, *shares in islice(zip(whole.batches(0), *(part.batches(0) for part in parts), strict=False), 8):
        targets = [share["targets"] for share in shares]
        assert torch.equal(torch.cat(targets), batch["targets"])
        sizes = [len(target) for target in targets]
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)  # the first process has the most: it is never without an example
        for share in shares:
            assert share.keys() == batch.keys()
            assert len({len(column) for column in share.values()}) == 1


@pytest.mark.usefixtures("gathered")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_process_may_have_no_example_of_a_batch(kind):
    share = stream(KINDS[kind](14), part=(2, 3))
    sizes = [len(batch["inputs"]) for batch in islice(share.batches(0), 4)]
    assert sizes == [1, 1, 1, 0]
    assert [len(batch["targets"]) for batch in islice(share.batches(2), 2)] == [1, 0]


def test_columns_beside_inputs_and_targets_come_along():
    examples = Examples({"left": torch.arange(6), "right": torch.arange(6) * 10}, np.arange(6))
    for batch in islice(stream(examples, 4).batches(0), 4):
        assert torch.equal(batch["right"], batch["left"] * 10)


def test_a_stream_says_what_must_be_written():
    class Empty(Stream):
        pass

    with pytest.raises(NotImplementedError, match="Empty gives no batches: write `batches`"):
        Empty().batches(0)
    empty = Empty()
    empty.start(nn.Linear(1, 1))
    empty.restore(empty.snapshot())
    assert empty.snapshot() == {}
    assert empty.to(torch.device("meta")).device.type == "meta"
