"""`gradlab explain`: equation, shapes, cost, laws and code of a block."""

import re
from html import unescape
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused


def test_without_a_name_every_block_is_listed(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("explain", cwd=tmp_path)
    assert ended.code == 0
    assert re.search(r"^ *activation.gelu +The input times", ended.out, re.MULTILINE)
    listed = quick("explain", "--json", cwd=tmp_path).json
    assert {"autodiff", "cnn"} <= set(listed)
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
    text = (tmp_path / "gelu.html").read_text("utf-8").replace("<wbr>", "")
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


def test_a_network_by_hand_learns_beside_torch(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "cnn", cwd=tmp_path).out
    assert "def correlate(x: Array, w: Array) -> Output:" in out
    assert "turned by half a circle" in out
    assert re.search(r"^ +0 +(\d\.\d{12}) +\1 +0 *$", out, re.MULTILINE)
    ended = quick("explain", "cnn", "--html", "cnn.html", "--json", cwd=tmp_path)
    assert ended.json["largest_difference"] < 1e-12
    text = (tmp_path / "cnn.html").read_text("utf-8")
    assert "Blue: the loss in NumPy. Orange: that in PyTorch." in text
    assert text.count('alt="kernel ') == 16
    assert "default-src 'none'" in text


def test_the_list_is_in_groups_and_each_group_has_its_word(quick: ForkServer, tmp_path: Path) -> None:
    lines = quick("explain", cwd=tmp_path).out.splitlines()
    titles = [line.strip() for line in lines if re.match(r"[A-Z][\w &:-]*$", line.strip()) and line[0] != " "]
    assert titles[:5] == ["Building blocks", "Optimisers", "Schedules", "Metrics", "Step by step"]
    assert titles[-2:] == ["Worked examples", "Pictures"]
    assert {"Laws: CNN", "Laws: Attention"} <= set(titles)
    laws, examples, pictures = (
        quick("explain", word, "--json", cwd=tmp_path).json for word in ("laws", "examples", "pictures")
    )
    assert {"softmax-shift", "rope-relative-law"} <= set(laws)
    assert {"mean-blur", "multiply-gate"} <= set(examples)
    assert "quadratic-cost" in laws, "of a law and a picture of one name the law comes first"
    assert {"quadratic-cost", "filters"} <= set(pictures)
    assert not set(laws) & set(examples)


def test_a_law_is_explained_by_its_statements(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "rope-relative-law", cwd=tmp_path).out
    assert out.startswith("rope-relative-law  A law of the course: Positional.")
    assert "Scores depend on the distance alone.\n    ⟨R_p q, R_r k⟩ = ⟨q, R_(r-p) k⟩" in out
    assert re.search(r"worst error in 20 cases: position.rotary \de-\d\d", out)
    assert "gradlab verify laws rope-relative-law" in out
    assert "gradlab explain rope-relative-law --show rope-relative-law.html" in out
    assert "class RotaryPosition(nn.Module):" in out
    shown = quick("explain", "rope-relative-law", "--json", "--html", "law.html", cwd=tmp_path).json
    assert {row["about"] for row in shown["checks"]} == {"position.rotary"}
    assert "⟨R<sub>p</sub> q" in (tmp_path / "law.html").read_text("utf-8")


def test_an_example_is_walked_through_with_values(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "conv-worked-example", cwd=tmp_path).out
    assert "5. The largest of each window of 2 × 2:\n    10   8\n     4  11\n" in out
    assert "computed by  gradlab.explanation.examples.convolution.conv_worked_example" in out
    shown = quick("explain", "sharpen-kernel", "--json", "--html", "walk.html", cwd=tmp_path).json
    assert shown["steps"][1]["values"].split()[-6:] == ["50", "40", "50", "90", "100", "90"]
    assert "<mtable>" in (tmp_path / "walk.html").read_text("utf-8")


def test_a_picture_is_written_as_a_page(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("explain", "filters", "--show", "x.html", cwd=tmp_path).out.split() == ["picture", "x.html"]
    assert "Sobel x: upright edges" in (tmp_path / "x.html").read_text("utf-8")
    shown = quick("explain", "lstm-memory-law", "--show", "y.html", "--json", cwd=tmp_path).json
    assert shown == {"name": "lstm-memory-law", "picture": "y.html"}
    out = quick("explain", "filters", cwd=tmp_path).out
    assert "gradlab explain filters --show filters.html" in out
    assert "edge-kernels" in out
    assert "edge-kernels" in quick("explain", "filters", "--json", cwd=tmp_path).json["shows"]
    refused = quick("explain", "filters", "--show", "x.png", cwd=tmp_path, env={"PATH": ""})
    check_refused(refused, "A PNG needs Chromium or Chrome on this machine")


def test_what_has_no_picture_shows_its_page(quick: ForkServer, tmp_path: Path) -> None:
    for name, words in (("einsum", "summed"), ("multiply-gate", "multiplies"), ("norm.rms", "RMS")):
        assert quick("explain", name, "--show", "x.html", cwd=tmp_path).out.split() == ["page", "x.html"]
        assert words in (tmp_path / "x.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["activation.gleu"], "Did you mean 'activation.gelu'"),
        (["lstn"], "Did you mean 'recurrent.lstm'"),
        (["cross-entropy"], "'divergence.cross_entropy' or 'loss.cross_entropy'"),
        (["qqqqqq"], "There is no name 'qqqqqq'"),
        (["activation.gelu", "--html", "no/such/folder.html"], "no/such/folder.html cannot be written"),
    ],
)
def test_bad_input_is_told_in_one_message(quick: ForkServer, tmp_path: Path, arguments: list[str], told: str) -> None:
    check_refused(quick("explain", *arguments, cwd=tmp_path), told)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("lstm", "recurrent.lstm"),
        ("batch-norm", "norm.batch"),
        ("backprop", "autodiff"),
        ("adam", "optimizer.adam"),
    ],
)
def test_the_usual_word_leads_to_what_it_means(quick: ForkServer, tmp_path: Path, asked: str, name: str) -> None:
    assert quick("explain", asked, "--json", cwd=tmp_path).json["name"] == name


def test_a_family_is_listed_by_its_word(quick: ForkServer, tmp_path: Path) -> None:
    listed = quick("explain", "schedule", "--json", cwd=tmp_path).json
    assert {"schedule.cosine", "schedule.plateau"} <= set(listed)
    assert all(name.startswith("schedule.") for name in listed)


def test_an_optimiser_is_explained_with_its_equation_knobs_and_code(quick: ForkServer, tmp_path: Path) -> None:
    out = quick("explain", "optimizer.adam", cwd=tmp_path).out
    assert "m ← β₁m + (1 − β₁)g" in out
    assert "gradlab train RECIPE train.optimizer=adam" in out
    assert re.search(r"train.optimizer.beta2 +0.999 +float", out)
    shown = quick("explain", "adam", "--json", cwd=tmp_path).json
    assert [code["name"] for code in shown["code"]] == [
        "gradlab.training.optimizers.adam.adam",
        "gradlab.scratch.optimizers.Adam",
    ]


@pytest.mark.slow
def test_every_part_of_a_recipe_and_every_metric_has_a_page(quick: ForkServer, tmp_path: Path) -> None:
    from gradlab.explanation.part import parts

    names = list(parts())
    assert {"optimizer.lion", "schedule.one-cycle", "metric.auroc"} <= set(names)
    for name in names:
        assert quick("explain", name, "--html", "part.html", cwd=tmp_path).code == 0, name
        text = (tmp_path / "part.html").read_text("utf-8")
        assert "$" not in text.partition("</style>")[2].partition("<h2>")[0], name
        assert "<math" in text or name.startswith("metric."), name


def test_metrics_are_those_that_tasks_measure() -> None:
    from gradlab.explanation.part import parts
    from gradlab.tasks.metrics import class_metrics

    assert {f"metric.{name}" for name in class_metrics(2)} <= set(parts())


@pytest.mark.parametrize(
    ("name", "caption"),
    [
        ("activation.gelu", "Orange: its slope."),
        ("activation.softmax", "Over an entry beside one that is 0."),
        ("loss.huber", "Over the prediction, where the target is 0."),
        ("divergence.entropy", "Over the first of two probabilities."),
        ("attention.gaussian", "Over its distance from the query, in widths."),
        ("schedule.cosine", "Over the steps of a run of 200"),
    ],
)
def test_what_is_a_curve_is_drawn(quick: ForkServer, tmp_path: Path, name: str, caption: str) -> None:
    assert quick("explain", name, "--html", "page.html", cwd=tmp_path).code == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    assert caption in text
    assert '<path d="M' in text


def test_code_is_wrapped_on_a_page_and_its_lines_stay_as_they_are(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("explain", "attention.multihead", "--html", "page.html", "--json", cwd=tmp_path)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert re.search(r"\.code pre {[^}]*white-space: pre-wrap", text)
    shown = [unescape(re.sub("<[^>]+>", "", pre)) for pre in re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)]
    code = ended.json["code"]["text"]
    assert f"{code.rstrip()}\n" in shown
    assert re.search(r'style="--indent: 8ch">        <span', text), "what is wrapped is indented further"


def test_equations_beside_each_other_are_elements_of_their_own(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("explain", "optimizer.adam", "--html", "page.html", cwd=tmp_path).code == 0
    (equations,) = re.findall(
        r'<div class="equation">(.*?)</div>', (tmp_path / "page.html").read_text("utf-8"), re.DOTALL
    )
    assert equations.count("<math") == 3
