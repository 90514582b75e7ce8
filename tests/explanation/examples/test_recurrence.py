"""The recurrent network of the course: its parameters, its shapes, and its two biases."""

import re

from gradlab.explanation.walk import Walk


def test_two_layers_have_eight_parameters_and_their_biases_add():
    _, parameters, shapes, end, beside, biases = Walk.of("pytorch-rnn-demo").steps
    assert parameters.words.startswith("Eight tensors")
    assert f"{10 * 20 + 20 * 20 + 2 * 20 + 2 * 20 * 20 + 2 * 20:,} numbers" in parameters.words
    found = dict(re.findall(r"(\w+) +(\(.*\))", parameters.values))
    layers = {"l0": "(20, 10)", "l1": "(20, 20)"}
    assert found == {
        name: shape
        for layer, first in layers.items()
        for name, shape in {
            f"weight_ih_{layer}": first,
            f"weight_hh_{layer}": "(20, 20)",
            f"bias_ih_{layer}": "(20,)",
            f"bias_hh_{layer}": "(20,)",
        }.items()
    }
    assert shapes.values == "x (5, 3, 10), h₀ (2, 3, 20), outputs (5, 3, 20), h₅ (2, 3, 20)"
    assert end.values == "largest difference 0"
    assert float(beside.values.split()[-1]) < 1e-6
    cancelled, added = (float(line.split()[-1]) for line in biases.values.splitlines())
    assert cancelled < 1e-5
    assert added > 0.5
