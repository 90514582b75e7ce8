import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradlab import api
from gradlab.data import Dataset, Examples, Preprocessing, load, sources
from gradlab.data import dataset as module
from gradlab.data.examples import Streamed
from gradlab.registry import Part
from gradlab.specs import Table

CPU = torch.device("cpu")


def table(rows, seed=0):
    """Numbers, some of them missing, and a category."""
    generator = np.random.default_rng(seed)
    values = generator.normal(3, 5, (rows, 4))
    values[generator.random((rows, 4)) < 0.1] = np.nan
    values[:, 3] = generator.integers(0, 3, rows)
    return values


def images(rows):
    return np.random.default_rng(1).integers(0, 256, (rows, 3, 4, 5)).astype(np.uint8)


def fitted(values, method="standardise"):
    if values.ndim == 4:
        return Preprocessing.fit(values, method, [], [])
    return Preprocessing.fit(values, method, list("abcd"), ["d"], missing=True)


KINDS = {"table": table(60), "images": images(60)}


def both(kind, rows):
    """The same rows streamed and in memory."""
    values = KINDS[kind]
    preprocessing = fitted(values)
    return Streamed(values, rows, preprocessing), preprocessing(values[rows])


def same_bits(one, other):
    return one.dtype == other.dtype and torch.equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
@given(hnp.arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 59), unique=True), st.data())
def test_streamed_rows_are_to_the_bit_those_in_memory(kind, rows, data):
    streamed, resident = both(kind, rows)
    assert len(streamed) == len(resident)
    assert streamed.shape == resident.shape
    start, stop = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    assert same_bits(streamed[start:stop], resident[start:stop])
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30)), dtype=torch.int64)
    assert same_bits(streamed[chosen], resident[chosen])
    assert same_bits(streamed.index_select(0, chosen), resident.index_select(0, chosen))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(3))
    assert same_bits(streamed[order], resident[order])
    assert same_bits(streamed.subset(chosen.numpy())[:], resident[chosen])
    assert streamed.nbytes == resident.nbytes


def test_only_the_rows_asked_for_are_read_in_the_order_of_the_file():
    asked = []

    class Watched(np.ndarray):
        def __getitem__(self, rows):
            asked.append(rows.tolist())
            return np.asarray(self)[rows]

    streamed = Streamed(KINDS["images"].view(Watched), np.arange(10, 60), fitted(KINDS["images"]))
    streamed[torch.tensor([7, 3, 9])]
    streamed[2:4]
    assert asked == [[13, 17, 19], [12, 13]]


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_the_same_streamed_and_in_memory(kind):
    rows = np.arange(5, 55)
    streamed, resident = (Examples.of(x, torch.arange(50), rows, torch.ones(50)) for x in both(kind, rows))
    some, want = streamed.sample(7), resident.sample(7)
    assert same_bits(some.inputs[:], want.inputs)
    assert some.rows.tolist() == want.rows.tolist() == [5, 12, 19, 26, 33, 40, 47]
    moved = streamed.to(CPU)
    assert len(moved) == 50
    assert len(moved.parts) == 3
    assert same_bits(moved.inputs[3:9], resident.inputs[3:9])


@pytest.fixture
def streaming(monkeypatch):
    """From here on there is no memory for data."""
    return lambda: monkeypatch.setattr(module, "memory_for_data", lambda: 0)


def arrays(path):
    np.savez(path.with_suffix(".npz"), x=images(120), y=np.arange(120) % 3)
    return "npz", {"data.path": str(path.with_suffix(".npz")), "model.hidden": [8]}


def rows_of_a_table(path):
    rows = [["" if np.isnan(value) else repr(value) for value in row] for row in table(120).tolist()]
    lines = [",".join([*row, "abc"[i % 3]]) for i, row in enumerate(rows)]
    path.write_text("a,b,c,d,y\n" + "\n".join(lines))
    knobs = {"data.path": str(path), "data.target": "y", "data.categories": ["d"], "model.hidden": [8]}
    return "csv", knobs


def files(run):
    """Losses and weights, byte for byte."""
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    weights = {p.relative_to(run.path): p.read_bytes() for p in sorted(run.path.rglob("*.safetensors"))}
    return [(line["step"], line["split"], line["loss"]) for line in lines], weights


@pytest.mark.parametrize("write", [arrays, rows_of_a_table])
def test_a_run_that_streams_its_data_is_to_the_bit_the_one_that_has_them_in_memory(tmp_path, streaming, write):
    recipe, knobs = write(tmp_path / "data")
    knobs |= {"train.epochs": 2, "train.batch_size": 16, "train.log_every": 1}
    resident = api.train(recipe, knobs, out=tmp_path / "resident", device="cpu")
    streaming()
    streamed = api.train(recipe, knobs, out=tmp_path / "streamed", device="cpu")
    assert isinstance(resident.dataset.train.inputs, torch.Tensor)
    assert isinstance(streamed.dataset.train.inputs, Streamed)
    assert files(streamed) == files(resident)
    for figures in ("test", "validation"):
        assert getattr(streamed, figures) == getattr(resident, figures)


def test_data_that_do_not_fit_are_streamed_and_others_are_not(streaming):
    part = sources.resolve(Part("moons"), "data")
    assert isinstance(load(part).train.inputs, torch.Tensor)
    streaming()
    assert isinstance(load(part).train.inputs, Streamed)


def subclasses(kind):
    return [kind, *(one for child in kind.__subclasses__() for one in subclasses(child))]


@pytest.mark.parametrize("kind", subclasses(Examples), ids=lambda kind: kind.__name__)
def test_every_kind_of_examples_is_shown_without_its_numbers(kind):
    assert kind.__repr__ is Examples.__repr__


def test_examples_and_datasets_are_shown_by_names_and_shapes():
    train = Examples.of(torch.randn(2000, 4), torch.zeros(2000, dtype=torch.int64))
    assert repr(train) == "Examples(2,000 examples: inputs (2000, 4), targets (2000,))"
    dataset = Dataset.of(train, spec=Table(4))
    assert repr(dataset) == f"Dataset(train={train!r}, validation=(), test=())"
