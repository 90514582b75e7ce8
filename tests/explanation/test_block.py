import numpy as np
import pytest
import torch

from gradlab.explanation.autodiff import Autodiff
from gradlab.explanation.block import Explanation
from gradlab.explanation.equations import mathml, terminal
from gradlab.explanation.pages import block_page
from gradlab.nn.blocks import blocks


@pytest.mark.parametrize("name", sorted(blocks))
def test_every_block_can_be_explained(name):
    found = Explanation.of(name)
    assert found.doc.summary.endswith(".")
    assert "\n" not in found.doc.summary
    assert found.doc.equations
    for latex in found.doc.equations:
        assert terminal(latex)
        assert mathml(latex)
    assert {"FLOPs", "Memory"} <= set(found.cost) <= {"FLOPs", "Memory", "Letters"}
    assert all(found.laws.values()), "each law says in symbols what it is"
    exec(found.example.splitlines()[1].removeprefix(">>> "), {})
    assert "$$" not in str(found.doc.body)
    assert found.name in block_page(found)
    assert found.plain()["name"] == name


def test_the_gradients_of_the_neuron_are_those_of_torch():
    w, x, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.0, -1.5, 1.0))
    (0.5 * (torch.sigmoid(w * x + b) - 1) ** 2).backward()
    graph = Autodiff.of_a_neuron().graph
    for name, leaf in {"w": w, "x": x, "b": b}.items():
        (line,) = [line for line in graph.splitlines() if f"─ {name} " in line]
        assert np.isclose(float(line.split()[-1]), leaf.grad.item(), rtol=5e-3)
