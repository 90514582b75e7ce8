"""`gradlab explain`: equation, shapes, cost, laws and code of a block."""

import re
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused


def test_without_a_name_every_block_is_listed(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("explain", cwd=tmp_path)
    assert ended.code == 0
    assert re.search(r"^ *activation.gelu +The input times", ended.out, re.MULTILINE)
    listed = quick("explain", "--json", cwd=tmp_path).json
    assert all(text.endswith(".") for text in listed.values())


def test_a_block_is_explained_in_the_terminal(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "activation.maxout", cwd=tmp_path).out
    assert "\x1b" not in out
    for line in [
        "f(x)ᵢ = max (Wₖx + bₖ)ᵢ",
        "shapes       x (…batch, in_features) → (…batch, out_features)",
        "parameters   weight (2, 3, 4), bias (2, 3), in Maxout(in_features=4, out_features=3, pieces=2)",
        "FLOPs        2·n·k·d·h",
        "Memory       O(n·k·h)",
        ">>> from gradlab.nn.activations import Maxout",
        "gradlab.nn.activations.Maxout",
        "gradlab.scratch.dense.maxout",
        "def maxout(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:",
    ]:
        assert line in out, line
    assert "the middle is not above the mean of the ends" in out


def test_the_twin_is_shown_with_its_derivative(quick: ForkServer, tmp_path: Path) -> None:
    (twin,) = quick("explain", "activation.leaky-relu", "--json", cwd=tmp_path).json["twins"]
    assert "steepness * dz" in twin["text"]


def test_json_has_every_part(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("explain", "activation.gelu", "--json", cwd=tmp_path).json
    assert shown["name"] == "activation.gelu"
    assert shown["equations"][0]["latex"].startswith("f(x) = x")
    assert "Φ(x)" in shown["equations"][0]["unicode"]
    assert shown["cost"] == {"FLOPs": "O(n)", "Memory": "O(n)"}
    assert shown["laws"]["the difference of mirrored inputs is the input"] == "f(x) - f(-x) = x"
    assert shown["peers"] == ["torch.nn.GELU"]
    assert "F.gelu" in shown["code"]["text"]
    assert '"""' not in shown["code"]["text"]
    assert [twin["name"] for twin in shown["twins"]] == [
        "gradlab.scratch.activations.gelu",
        "gradlab.scratch.activations.gelu_tanh",
    ]


def test_a_page_has_mathml_and_both_codes_and_fetches_nothing(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("explain", "activation.gelu", "--html", "gelu.html", cwd=tmp_path)
    assert ended.code == 0
    text = (tmp_path / "gelu.html").read_text("utf-8")
    assert "<math" in text
    assert "<mfrac>" in text
    assert "<svg" in text
    assert "gradlab.scratch.activations.gelu" in text
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=.?https?:", text)
    assert len(text) < 100_000


def test_autodiff_draws_the_graph_of_a_neuron(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "autodiff", cwd=tmp_path).out
    assert re.search(r"├─ w +2 +0.139$", out, re.MULTILINE)
    assert "lambda dz: y * dz, lambda dz: x * dz" in out
    assert quick("explain", "autodiff", "--html", "a.html", cwd=tmp_path).code == 0
    assert "<svg" in (tmp_path / "a.html").read_text("utf-8")
    assert quick("explain", "autodiff", "--json", cwd=tmp_path).json["graph"] in out.replace("\n    ", "\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["activation.gleu"], "Did you mean 'activation.gelu'"),
        (["activation.gelu", "--html", "no/such/folder.html"], "no/such/folder.html cannot be written"),
    ],
)
def test_bad_input_is_told_in_one_message(quick: ForkServer, tmp_path: Path, arguments: list[str], told: str) -> None:
    check_refused(quick("explain", *arguments, cwd=tmp_path), told)
