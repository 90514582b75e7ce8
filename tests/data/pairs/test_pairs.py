"""Pairs of texts: files, splits, tokens, batches."""

from datetime import date, timedelta

import numpy as np
import pytest
import torch
from babel.dates import format_date

from gradlab.data import load, preparation_of, sources
from gradlab.data.pairs import dates
from gradlab.data.pairs.reader import SentenceReader
from gradlab.errors import GradlabError
from gradlab.registry import Part

LINES = [f"{' '.join('abcdefgh'[i % 5 : i % 5 + 1 + i % 7])}\t{'x' * (1 + i % 4)} {i}" for i in range(60)]


def loaded(**values):
    return load(sources.resolve(Part("pairs", values), "data"), "pairs")


@pytest.fixture
def tsv(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(LINES) + "\n")
    return str(path)


def test_pairs_come_back_from_their_tokens_in_every_split(tsv):
    dataset = loaded(path=tsv, tokenizer="char")
    source, target = dataset.preprocessing.source, dataset.preprocessing.target
    seen = []
    for split in (dataset.train, dataset.validation, dataset.test):
        for i in range(len(split)):
            batch = split.batch(slice(i, i + 1))
            x, y = batch["inputs"][0].tolist(), batch["targets"][0].tolist()
            assert y[0] == target.encoder["<bos>"]
            assert (split.rows[i], source.decode(x), target.decode(y[1:])) == (split.rows[i], *_pair(split.rows[i]))
            assert split.texts[i] == _pair(split.rows[i])[1]
            seen.append(split.rows[i])
    assert sorted(seen) == list(range(60))


def _pair(row):
    return tuple(LINES[row].split("\t"))


def test_two_files_are_the_same_as_one(tsv, tmp_path):
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / f"{name}.txt").write_text("\n".join(line.split("\t")[side] for line in LINES))
    files = {f"{name}_file": str(tmp_path / f"{name}.txt") for name in ("source", "target")}
    one, two = loaded(path=tsv), loaded(**files)
    assert one.raw.fingerprint() == two.raw.fingerprint()
    assert torch.equal(one.train.inputs[:], two.train.inputs[:])


def test_files_of_their_own_are_the_splits_and_the_tokenizer_knows_the_training_pairs_alone(tsv, tmp_path):
    (tmp_path / "test.tsv").write_text("ü ö\tä\n")
    dataset = loaded(path=tsv, test_file=str(tmp_path / "test.tsv"), tokenizer="char")
    assert len(dataset.test) == 1
    assert dataset.test.texts == ["ä"]
    source = dataset.preprocessing.source
    assert dataset.test.inputs[:].eq(source.encoder["<unk>"]).sum() == 2


def test_a_shared_vocabulary_has_the_same_numbers_on_both_sides(tsv):
    dataset = loaded(path=tsv, shared=True, tokenizer="char")
    spec = dataset.preprocessing.spec
    assert spec.shared
    assert spec.source.vocabulary == spec.target.vocabulary
    assert (
        dataset.preprocessing.files()["source-tokenizer.json"] == dataset.preprocessing.files()["target-tokenizer.json"]
    )


def test_single_texts_are_their_own_targets(tmp_path):
    (tmp_path / "lines.txt").write_text("one two\nthree\nfour five six\nseven\neight\nnine\nten\neleven\ntwelve\n13\n")
    dataset = loaded(path=str(tmp_path / "lines.txt"), reconstruct=True)
    assert (dataset.raw.inputs == dataset.raw.targets).all()


def test_named_columns_are_taken_from_anywhere(tmp_path):
    rows = ["id\tde\ten", *(f"{i}\tein {i}\tone {i}" for i in range(20))]
    (tmp_path / "named.tsv").write_text("\n".join(rows))
    raw = loaded(path=str(tmp_path / "named.tsv"), columns=["en", "de"]).raw
    assert (raw.inputs[3], raw.targets[3]) == ("one 3", "ein 3")


def test_a_preparation_comes_back_from_what_a_run_keeps(tsv):
    pairing = loaded(path=tsv).preprocessing
    described = {"kind": pairing.kind, **pairing.describe()}
    again = preparation_of(described, {"tokens": 1}, pairing.files().__getitem__)
    assert again == pairing
    assert again.target.decode(again.target.encode(["a b"])[0][1:]) == "a b"


def test_batches_have_few_shapes_and_little_padding():
    generator = np.random.default_rng(0)
    lengths = generator.integers(3, 60, 4000)
    from gradlab.data.text.sequences import Padded, length_batches

    source = Padded.of(np.zeros(lengths.sum(), dtype=np.int64), np.cumsum(lengths) - lengths, 60)
    others = np.clip(lengths + generator.integers(-4, 5, 4000), 3, 60)
    target = Padded.of(np.zeros(others.sum(), dtype=np.int64), np.cumsum(others) - others, 60)
    batches = length_batches(np.stack([target.lengths, source.lengths], 1), 64, seed=0, epoch=0)
    assert sorted(torch.cat(batches).tolist()) == list(range(4000))
    shapes = {(source[rows].shape, target[rows].shape) for rows in batches}
    assert len(shapes) < 40
    cells = sum(source[rows].numel() + target[rows].numel() for rows in batches)
    assert (lengths.sum() + others.sum()) / cells > 0.85


def test_the_share_of_a_models_own_tokens_grows_with_the_epochs(tsv):
    from dataclasses import replace

    train = replace(loaded(path=tsv).train, own=0.4, ramp=4)
    shares = [float(train.for_epoch(0, epoch).batch(slice(0, 1))["own"][0]) for epoch in range(6)]
    assert shares == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.4])


@pytest.mark.parametrize(
    ("content", "values", "words"),
    [
        ("one\ttwo\nthree\n", {}, "line 2: there is no tab"),
        ("one\ttwo\n\tthree\n", {}, "line 2: the source is empty"),
        ("one\ttwo\nthree\t  \n", {}, "line 2: the target is empty"),
        ("", {}, "has no pair"),
        ("one\ttwo\n" * 20, {"columns": ["de", "en"]}, "no column"),
        (
            "one\ttwo\n" * 19 + "a a a a a a a\tb\n",
            {"context": 4, "tokenizer": "word"},
            "line 20: the source has 8 tok",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path, content, values, words):
    path = tmp_path / "bad.tsv"
    path.write_text(content)
    with pytest.raises(GradlabError, match=words):
        loaded(path=str(path), **values)


def test_pairs_that_are_too_long_may_be_left_out(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text("one\ttwo\n" * 19 + "a a a a a a a\tb\n")
    dataset = loaded(path=str(path), context=4, tokenizer="word", longer="drop")
    assert sum(map(len, (dataset.train, dataset.validation, dataset.test))) == 19
    assert any("Left out 1 pair" in note for note in dataset.raw.notes)


def test_files_whose_lines_do_not_belong_together_are_refused(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(GradlabError, match=r"has 3 lines and .*b has 2"):
        loaded(source_file=str(tmp_path / "a"), target_file=str(tmp_path / "b"))
    with pytest.raises(GradlabError, match=r"data\.target_file is not"):
        loaded(source_file=str(tmp_path / "a"))
    with pytest.raises(GradlabError, match="Where are the pairs"):
        loaded()


def test_a_text_and_a_file_of_texts_are_read(tmp_path):
    (tmp_path / "new.txt").write_text("one\ntwo three\n")
    assert SentenceReader().read("4.3.1998").values.tolist() == ["4.3.1998"]
    assert SentenceReader().read(str(tmp_path / "new.txt")).values.tolist() == ["one", "two three"]
    with pytest.raises(GradlabError, match="no file here"):
        SentenceReader().read("missing.txt")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(GradlabError, match="no text in it"):
        SentenceReader().read(str(tmp_path / "empty.txt"))
    (tmp_path / "gap.txt").write_text("one\n\nthree\n")
    with pytest.raises(GradlabError, match="line 2"):
        SentenceReader().read(str(tmp_path / "gap.txt"))


def test_no_form_of_a_date_stands_for_two_days():
    """All forms of all days of a year and a half, in all languages: each text has one day."""
    days = [date(1998, 1, 1) + timedelta(days=7 * i + i % 7) for i in range(78)]
    days += [date(2001, month, day) for month in range(1, 13) for day in (1, 2, 3, 11)]
    meant = {}
    for locale in dates._LOCALES:
        for style in dates._STYLES:
            for day in days:
                text = format_date(day, style, locale=locale)
                for case in dates._CASES[-3:]:
                    if dates.is_plain(case(text), day):
                        assert meant.setdefault(case(text), day) == day, (text, locale)
    assert len(meant) > 1000


def test_a_day_is_in_one_split_alone():
    dataset = load(sources.resolve(Part("dates", {"examples": 400, "tokenizer": "char", "last_year": 1900}), "data"))
    splits = [set(split.texts) for split in (dataset.train, dataset.validation, dataset.test)]
    assert all(splits)
    assert not splits[0] & splits[2]
    assert not splits[0] & splits[1]
    assert all(date.fromisoformat(text) for split in splits for text in split)
