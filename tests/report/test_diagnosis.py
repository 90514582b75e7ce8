"""The page of a diagnosis: what a reader sees, and that any record can be drawn."""

import json
import math
import re
from collections.abc import Iterable
from html import unescape
from typing import Any

import torch
from torch import nn

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Finding, Spot, Verdict, ranked
from gradlab.diagnosis.record import Activation, Clipping, Judged, Loss, Module, Optimizer, Parameter, Record, Site
from gradlab.diagnosis.series import Series
from gradlab.report.diagnosis import page_of


def series(values: Iterable[float]) -> Series:
    made = Series()
    for step, value in enumerate(values):
        made.add(step, value)
    return made


def finding(slug: str, severity: Any = "error", **more: Any) -> Finding:
    usual: dict[str, Any] = {"confidence": 0.9, "place": (Spot("net.0"),), "since_step": 3}
    usual |= {"evidence": "It was measured.", "fix": "repair()"}
    return Finding(slug=slug, severity=severity, **(usual | {"title": f"{slug} is wrong"} | more))


def verdict(*findings: Finding, **more: Any) -> Verdict:
    return Verdict(findings=ranked(findings), steps=8, seconds=2.0, **more)


def record(layers: int = 2, loss: Iterable[float] = (4.0, 3.0, 2.0, 1.0, 1.0, 1.0)) -> Record:
    parameters = {
        f"net.{i}.weight": Parameter(
            name=f"net.{i}.weight",
            shape=(3, 2),
            requires_grad=True,
            owner="Linear",
            gradient=series([0.1, 0.01]),
            update=series([0.0, 1e-3]),
            weight=series([1.0, 2.0]),
            optimizer=0,
            changed=True,
            reached=2,
        )
        for i in range(layers)
    }
    return Record(
        steps=8,
        looks=[0, 1],
        seconds=2.0,
        own_seconds=0.1,
        losses=[Loss(site=Site("/home/me/train.py", 20), values=series(loss), count=6)],
        judged=[Judged(kind="cross_entropy", site=None, training=False, values=series([2.0, 1.5]))],
        optimizers=[Optimizer(number=0, kind="SGD", site=None, rate=series([0.1, 0.05]), gradient=series([1.0, 2.0]))],
        parameters=parameters,
        modules={"net.0": Module(path="net.0", kind="Linear", std=series([1.0, 0.5]), trained_in_eval=1)},
        activations=[
            Activation(kind="relu", where="relu #1", order=0, dead=series([0.0, 0.5])),
            Activation(kind="tanh", where="net.3", order=1, saturated=series([0.2, 0.9])),
        ],
        clippings=[Clipping(site=None, limit=1.0)],
        recurrent={"rnn": series([1e-9, 1e-3, 1.0])},
    )


class Seen:
    """A page as a browser reads it: its text, its titles, its figures by title, and its scripts."""

    def __init__(self, said: Verdict, seen: Record, name: str = "train.py"):
        html = page_of(said, seen, name)
        drawn = re.findall(r'<h3>([^<]*)</h3><div class="chart".*?<script type="application/json">(.*?)</script>', html)
        self.figures: dict[str, Any] = {title: json.loads(figure) for title, figure in drawn}
        self.scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
        body = re.sub(r"<(script|style)[ >].*?</\1>", "", html, flags=re.DOTALL)
        self.titles = [unescape(title) for title in re.findall(r"<h[123]>(.*?)</h[123]>", body)]
        self.text = unescape(re.sub(r"<[^>]*>", "", body))
        self.loaded = re.findall(r" (?:src|href)=", body)


def test_the_page_has_the_verdict_its_findings_and_the_course_of_the_training() -> None:
    seen = Seen(
        verdict(finding("a", topic="norm.batch", series=series([1.0, math.nan, 3.0]), meaning="It hurts.")), record()
    )
    assert seen.titles[:3] == ["A is wrong.", "Findings", "A is wrong"]
    for words in ("train.py", "90% sure", "net.0", "step 3", "It was measured.", "It hurts.", "repair()"):
        assert words in seen.text
    assert "gradlab explain norm.batch" in seen.text
    assert list(seen.figures) == [
        "Loss",
        "Learning rate",
        "Norm of the whole gradient",
        "Gradient norm",
        "Update-to-weight ratio",
        "Dead units",
        "Saturated outputs",
        "Gradient by time step",
    ]
    assert seen.loaded == []
    assert "net.1.weight" in seen.text
    assert "trained in eval mode" in seen.text


def test_a_loss_is_drawn_over_its_steps_with_evaluations_and_where_findings_begin() -> None:
    figure = Seen(verdict(finding("a"), finding("b", "note", since_step=4)), record()).figures["Loss"]
    trained, judged = figure["data"]
    assert (trained["x"], trained["y"]) == ([0, 1, 2, 3, 4, 5], [4, 3, 2, 1, 1, 1])
    assert judged["y"] == [2, 1.5]
    assert [mark["text"] for mark in figure["layout"]["annotations"]] == ["a"]


def test_what_is_no_number_is_a_gap() -> None:
    broken = record(loss=[1.0, math.inf, math.nan, 2.0])
    broken.losses[0].not_finite = 1
    seen = Seen(verdict(), broken)
    assert seen.figures["Loss"]["data"][0]["y"] == [1, None, None, 2]
    assert "From step 1 on it was not a number" in seen.text


def test_zeros_are_not_on_a_logarithmic_scale() -> None:
    figure = Seen(verdict(), record()).figures["Update-to-weight ratio"]
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert figure["data"][0]["y"] == [None, 1e-3]


def test_losses_of_several_lines_are_told_apart() -> None:
    several = record()
    several.losses.append(Loss(site=Site("/home/me/train.py", 31), values=series([1.0]), count=1))
    names = [trace["name"] for trace in Seen(verdict(), several).figures["Loss"]["data"]]
    assert names[:2] == ["loss at train.py:20", "loss at train.py:31"]


def test_many_layers_are_drawn_by_depth_and_some_are_left_out() -> None:
    seen = Seen(verdict(), record(layers=400))
    figure = seen.figures["Gradient norm"]
    assert len(figure["data"]) == 40
    assert len({trace["line"]["color"] for trace in figure["data"]}) == 40
    assert [figure["data"][i]["name"] for i in (0, -1)] == ["net.0.weight", "net.399.weight"]
    assert figure["layout"]["showlegend"] is False
    assert "40 of 400 layers" in seen.text
    assert "The first 300 of 400 are shown" in seen.text


def test_an_empty_record_is_a_page_too() -> None:
    seen = Seen(verdict(), Record(), name="")
    assert "Looks healthy" in seen.titles[0]
    assert seen.figures == {}


def test_what_a_user_wrote_is_no_html() -> None:
    hostile = "<script>alert(1)</script>"
    seen = Seen(
        verdict(finding(hostile, title=hostile, place=(Spot(hostile),), fix=hostile), faults=[hostile]),
        record(),
        hostile,
    )
    assert hostile in seen.text
    assert "alert(1)" not in "".join(seen.scripts)
    assert len(seen.scripts) == 2


def test_consequences_and_faults_are_told() -> None:
    seen = Seen(
        verdict(finding("a"), finding("b", "note", follows_from="a"), faults=["rule c: KeyError: 'd'"]), record()
    )
    assert "Goes with" in seen.text
    assert "Faults of the doctor itself" in seen.titles
    assert "rule c: KeyError: 'd'" in seen.text


def test_a_real_training_is_drawn() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
    with Doctor(tell=False) as doctor:
        for _ in range(15):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    seen = Seen(doctor.verdict, doctor.record)
    for title in (
        "Loss",
        "Gradient norm",
        "Update-to-weight ratio",
        "Dead units",
        "Saturated outputs",
        "Learning rate",
    ):
        assert all(any(v is not None for v in trace["y"]) for trace in seen.figures[title]["data"]), title
    assert len(seen.figures["Gradient norm"]["data"]) == 3
    assert re.search(r"8×4", seen.text)
