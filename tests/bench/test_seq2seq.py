"""Models of pairs beside the usual loop: equal work, the same padding law, and figures by length; at small sizes."""

import io

import numpy as np
import pytest
import torch
from rich.console import Console

from gradlab.bench.seq2seq.lengths import ByLength, LengthRow, bench_lengths, grouped
from gradlab.bench.seq2seq.speed import PairsRow, PairsTrained, bench_speed
from gradlab.bench.seq2seq.usual_loop import endless, padded
from gradlab.bench.seq2seq.work import Seq2SeqWork, by_gradlab, by_the_usual_loop, generated_pairs
from gradlab.cli.benchmarks.seq2seq import show_seq2seq
from gradlab.errors import GradlabError
from gradlab.recipes import find

SMALL = {"dim": 8, "heads": 2, "layers": 1, "hidden": 16, "dropout": 0.1}
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")


@pytest.fixture(scope="module")
def work():
    return Seq2SeqWork(model=SMALL, pairs=40, batch=16, threads=1)


def test_generated_pairs_are_as_long_as_those_of_multi30k():
    pairs = generated_pairs(500)
    lengths = np.array([len(text.split()) for text in pairs.inputs])
    assert (lengths.min(), lengths.max()) >= (8, 25)
    assert lengths.max() <= 40
    assert np.median(lengths) == pytest.approx(15, abs=1)
    for source, target in zip(pairs.inputs, pairs.targets, strict=True):
        assert [word[1:] for word in source.split()] == [word[1:] for word in target.split()]


def test_both_loops_train_as_many_weights_on_the_same_pairs(work):
    ours, theirs = by_gradlab(work), by_the_usual_loop(work)
    assert ours["parameters"] == theirs["parameters"]
    assert ours["pairs"] == theirs["pairs"] == 80
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=0.1)
    assert 0 < ours["padding"] < theirs["padding"], "similar lengths are together"
    assert min(ours["seconds"], theirs["seconds"]) > 0


def test_an_epoch_of_the_usual_loop_has_every_pair_once_and_pads_behind_it(work):
    batches = endless(work.tokens, 16)
    seen = []
    for source, _ in (next(batches) for _ in range(3)):
        assert (source[:, -1] != 0).any()
        seen += [tuple(row[row != 0].tolist()) for row in source]
    assert sorted(seen) == sorted(tuple(source.tolist()) for source, _ in work.tokens)


def test_padding_changes_nothing_of_the_usual_transformer(work):
    from gradlab.bench.seq2seq.usual_loop import UsualTransformer

    model = UsualTransformer(work.dataset.targets.tokens, 50, **SMALL).eval()
    pair = min(work.tokens, key=lambda pair: len(pair[0]))
    alone, together = padded([pair]), padded([pair, max(work.tokens, key=lambda pair: len(pair[0]))])
    length = len(pair[1])
    assert together[0].shape[1] > alone[0].shape[1]
    torch.testing.assert_close(model(*together)[0, :length], model(*alone)[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"rounds": 0}, "at least one round"), ({"pairs": 0}, "--pairs must be"), ({"threads": 0}, "--threads must be")],
)
def test_bad_requests_are_refused_before_anything_starts(options, words):
    with pytest.raises(GradlabError, match=words):
        bench_speed(find("translate"), pytest.fail, **options)


def test_groups_have_all_lengths_once_and_about_as_many_examples():
    lengths = np.random.default_rng(0).integers(2, 41, 1000)
    groups = grouped(lengths)
    assert [n for low, high in groups for n in range(low, high + 1)] == list(range(2, 41))
    assert all(150 < ((lengths >= low) & (lengths <= high)).sum() < 250 for low, high in groups)
    assert grouped([3, 3, 3]) == [(3, 3)]


def test_models_are_judged_by_the_length_of_the_source():
    changes = {"data.examples": 60, "data.longest": 6, "model.dim": 8, "model.hidden": 8, "train.batch_size": 16}
    small = find("dates-transformer").override({"model.dim": 8, "model.heads": 2, "model.layers": 1})
    found = bench_lengths("copies", find("copy-seq2seq"), small, 2, lambda _: None, changes)
    assert [row.title for row in found.rows] == ["one vector", "Luong attention", "Bahdanau attention", "transformer"]
    assert len({row.parameters for row in found.rows}) > 2
    assert sum(found.pairs) == 6
    for row in found.rows:
        assert row.exact_match == pytest.approx(np.average(row.by_length, weights=found.pairs))


def test_tables_say_what_was_measured():
    row = PairsRow(title="gradlab", ratio=0.5, cpu=0.52, seconds=3.1, padding=0.08, losses=[7.0, 6.0])
    about = {"reference": "usual", "rounds": 3, "parameters": 5_066_240, "device": "CPU", "versions": "gradlab 1"}
    speed = PairsTrained(title="1,280 pairs", rows=[row], **about)
    line = LengthRow(title="one vector", parameters=7000, seconds=61, exact_match=0.5, by_length=[1.0, 0.0])
    lengths = ByLength(data="copy", title="copies", steps=7, lengths=[(2, 5), (6, 6)], pairs=[30, 30], rows=[line])
    screen = Console(file=io.StringIO(), width=120)
    show_seq2seq(screen, [lengths, speed])
    text = screen.file.getvalue()
    rows = [line.split() for line in text.splitlines()]
    assert ["2", "to", "5", "30", "100%"] in rows
    assert ["6", "30", "0%"] in rows
    assert ["all", "60", "50%"] in rows
    assert ["gradlab", "0.50", "0.52", "3.10", "8%", "7.000,", "6.000"] in rows
