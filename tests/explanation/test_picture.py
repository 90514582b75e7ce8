"""Pictures of concepts: what they show is right, and they are written as pages and as PNG files."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gradlab.errors import GradlabError
from gradlab.explanation.law import law_summaries
from gradlab.explanation.part import parts
from gradlab.explanation.picture import (
    _also,
    figure_of,
    figure_page,
    figure_title,
    figures,
    has_figure,
    shown,
    write_shown,
)
from gradlab.explanation.walk import walks
from gradlab.nn.blocks import blocks
from gradlab.verification.course import EXAMPLES, LAWS
from gradlab.verification.subject import subjects


@pytest.fixture(scope="module")
def drawn():
    return {name: figure_of(name)() for name in ("hard-soft-attention", "quadratic-cost", "bptt", "rope-relative-law")}


def test_a_picture_is_of_things_that_are_known():
    figures()
    known = {*blocks, *parts(), *LAWS, *EXAMPLES, *subjects}
    assert set(_also) <= known
    assert {"hard-soft-attention", "quadratic-cost", "gradient-through-time", "filters"} <= set(figures())


def test_a_law_an_example_and_a_block_have_the_picture_that_shows_them():
    assert figure_of("lstm-memory-law") is figure_of("gradient-through-time") is figure_of("recurrent.lstm")
    assert figure_of("mean-blur") is figures()["filters"]
    assert has_figure("rope-relative-law")
    assert not has_figure("no-such-thing")
    assert not has_figure("activation.leaky_relu")


def test_a_name_is_taken_once():
    figures()
    with pytest.raises(AssertionError, match="two pictures 'filters'"):
        shown("filters")(lambda: None)


# What is seen


def test_soft_weights_go_from_a_mean_to_a_choice(drawn):
    *soft, hard = drawn["hard-soft-attention"].traces
    weights, betas = np.stack([trace["y"].numpy() for trace in soft]), soft[0]["x"].double().numpy()
    below = np.exp(np.outer([0, -0.3, -0.7, -1, -1.6], betas))  # relative to the best
    assert weights == pytest.approx(below / below.sum(0), abs=1e-5)
    assert weights[:, 0].tolist() == pytest.approx([0.2] * 5, abs=0.005)
    assert weights[:, -1].tolist() == pytest.approx([1, 0, 0, 0, 0], abs=1e-6)
    assert hard["y"].tolist() == [1, 0, 0, 0, 0]


def test_softmax_attention_is_quadratic_and_others_are_linear(drawn):
    softmax, linear, performer = (np.array(trace["y"]) for trace in drawn["quadratic-cost"].traces)
    lengths = np.array(drawn["quadratic-cost"].traces[0]["x"])
    assert (softmax == 4 * 64 * lengths**2).all()
    assert (softmax[1:] == 4 * softmax[:-1]).all()
    for counts in (linear, performer):
        assert (counts[1:] == 2 * counts[:-1]).all()
    (said,) = re.findall(r"about (\d+) tokens", drawn["quadratic-cost"].note)
    assert lengths[performer < softmax][0] / 2 <= int(said) <= lengths[performer < softmax][0]


def test_the_gradient_of_an_rnn_stays_below_its_bound_and_an_lstm_keeps_its_own(drawn):
    norms = {trace["name"]: np.asarray(list(map(float, trace["y"]))) for trace in drawn["bptt"].traces}
    steps = np.arange(60)
    for norm in (0.5, 0.9, 1.1):
        assert (norms[f"RNN, ‖W‖ = {norm:g}"] <= norm**steps * (1 + 1e-9)).all()
    assert norms["LSTM, forget bias 6"][-1] > 0.5
    assert norms["LSTM, forget bias 0"][30] < 1e-6
    assert all(values[0] == pytest.approx(1) for values in norms.values())


def test_inner_products_are_those_of_angles_wherever_the_first_stands(drawn):
    speeds = 10000.0 ** (-np.arange(0, 64, 2) / 64)
    for trace in drawn["rope-relative-law"].traces:
        if "sinusoidal" in trace["name"]:
            away = np.asarray(trace["x"])
            assert np.cos(np.outer(away, speeds)).mean(1) == pytest.approx(np.asarray(trace["y"]), abs=1e-9)
    rotary = [trace for trace in drawn["rope-relative-law"].traces if "rotary" in trace["name"]]
    first, *others = ({int(x): float(y) for x, y in zip(t["x"], t["y"], strict=True)} for t in rotary)
    for other in others:
        assert other == {x: pytest.approx(first[x], abs=1e-9) for x in other}


# How it is written


@pytest.mark.parametrize("name", list(figures()))
def test_every_picture_has_axes_a_note_and_finite_numbers(name: str):
    figure = figures()[name]()
    assert figure_title(name)
    assert figure.note.endswith(".")
    text = figure_page(name, figure)
    (held,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    plot = json.loads(unescape(held))
    assert plot["data"]
    assert "default-src 'none'" in text


def test_a_page_is_written(tmp_path: Path):
    write_shown(tmp_path / "cost.HTML", lambda: figure_page("quadratic-cost", figure_of("quadratic-cost")()))
    text = (tmp_path / "cost.HTML").read_text("utf-8")
    assert "<h1>quadratic-cost</h1>" in text
    assert "softmax attention" in text
    assert not re.search(r"(src|href)=.?https?:", text.partition("<script>")[0])


@pytest.mark.skipif(not shutil.which("chromium"), reason="a PNG is drawn by Chromium")
def test_a_png_is_drawn_by_a_browser(tmp_path: Path):
    write_shown(tmp_path / "cost.png", lambda: figure_page("quadratic-cost", figure_of("quadratic-cost")()))
    with Image.open(tmp_path / "cost.png") as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape[1] == 1000
    blue = np.abs(pixels - [0x44, 0x77, 0xAA]).sum(-1) < 30
    assert blue.sum() > 500, "the line of softmax attention"
    assert [path.name for path in tmp_path.iterdir()] == ["cost.png"]


def test_a_name_without_a_picture_is_told_with_those_that_have_one():
    with pytest.raises(
        GradlabError, match=r"There is no picture of activation.leaky_relu. There are pictures of: .*filters"
    ):
        figure_of("activation.leaky_relu")


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    with pytest.raises(GradlabError, match=r"ending in .html or .png"):
        write_shown(tmp_path / "x.svg", str)


def test_without_a_browser_a_png_is_refused_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GradlabError, match=r"needs Chromium or Chrome .* Use --show FILE.html"):
        write_shown(tmp_path / "x.png", str)
    assert not list(tmp_path.iterdir())


def test_a_browser_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "bin" / "chromium"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:/bin:/usr/bin")
    with pytest.raises(GradlabError, match=r"could not draw the page. Write it instead: --show FILE.html"):
        write_shown(tmp_path / "x.png", str)
    assert not (tmp_path / "x.png").exists()


def test_every_listed_law_and_example_can_be_found_by_its_picture():
    for name, own in _also.items():
        assert own in figures()
        if name in LAWS:
            assert name in law_summaries(), f"{own} is of {name}, which no check states"
        if name in EXAMPLES:
            assert name in walks(), f"{own} is of {name}, which is not worked"
