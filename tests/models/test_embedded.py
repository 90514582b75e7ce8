"""Columns with many categories: a vector for each, in front of any model."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

import gradlab as gl
from gradlab.models import build_model
from gradlab.models.embedded import EmbeddedTable
from gradlab.registry import Part
from gradlab.specs import Table


def test_it_is_a_dense_layer_on_one_hot_codes():
    layer = EmbeddedTable(2, [5, 7])
    inputs = torch.tensor([[0.5, -1.0, 4.0, 0.0], [2.0, 3.0, 0.0, 6.0]])
    [first, second] = [table.weight for table in layer.vectors]
    coded = [one_hot(inputs[:, 2].long(), 5).float() @ first, one_hot(inputs[:, 3].long(), 7).float() @ second]
    expected = torch.cat([inputs[:, :2], *coded], dim=1)
    assert torch.equal(layer(inputs), expected)
    assert layer(inputs).shape == (2, layer.width)


@pytest.mark.parametrize("name", ["mlp", "linear", "softmax"])
def test_any_model_of_tables_has_it_in_front(name):
    model = build_model(Part(name), Table(3, embedded=(200,)), 4)
    out = model(torch.tensor([[0.1, 0.2, 199.0], [0.1, 0.2, 0.0]]))
    assert out.shape == (2, 4)
    out.sum().backward()
    touched = model[0].vectors[0].weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert touched == [0, 199]


def test_what_only_a_column_of_many_categories_tells_is_learned(tmp_path):
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 150, 3000)
    rent = rng.normal(0, 1, 150)[towns] + rng.normal(0, 0.1, 3000)
    rows = [f"T{t},{x:.2f},{r:.4f}" for t, x, r in zip(towns, rng.normal(size=3000), rent, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["town,noise,rent", *rows]))
    run = gl.train("csv", {"data.target": "rent"}, data=tmp_path / "t.csv", out=tmp_path / "run")
    assert run.result["test"]["r2"] > 0.9
    assert any("'town' has 150 categories: a vector is learned for each" in note for note in run.dataset.raw.notes)
    beside = run.result["baselines"]["test"]
    assert beside["ridge regression"]["r2"] > 0.9  # which sees them one-hot
    assert set(beside) == {"training mean", "ridge regression", "boosted trees"}
    assert run.baselines("test")["boosted trees"] == beside["boosted trees"]
