"""Tiny finished runs, and a report read back as a browser would read it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gradlab.recipe import Recipe
from gradlab.registry import Part
from gradlab.report import write_report
from gradlab.run import Run
from gradlab.training.experiment import Experiment, start

Train = Callable[..., Run]


@dataclass
class Page(HTMLParser):
    """What a reader sees (`text`, `titles`), what a browser would load (`loaded`), and what it runs (`scripts`)."""

    path: Path
    text: str = ""
    titles: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    policy: str = ""
    pictures: list[str] = field(default_factory=list)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.current: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(self.path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.current = (tag, values)
        self.loaded += [v or "" for k, v in attrs if k in ("src", "srcset", "href", "data", "action", "poster")]
        if tag == "img":
            self.pictures.append(values.get("alt") or "")
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self.current = ("", {})

    def handle_data(self, data: str) -> None:
        tag, values = self.current
        if tag == "script" and values.get("type") == "application/json":
            self.figures[self.titles[-1]] = json.loads(data, parse_constant=_refuse)
        elif tag == "script":
            self.scripts.append(data)
        else:
            self.text += data
        if tag in ("h1", "h2", "h3"):
            self.titles.append(data)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    import torch

    def make(
        data: Part, model: str | Part = "mlp", task: str | Part = "classify", name: str = "tiny", **plan: Any
    ) -> Run:
        part = model if isinstance(model, Part) else Part(model)
        learned = task if isinstance(task, Part) else Part(task)
        recipe = Recipe(name, data, part, learned, {"epochs": 3, "lr": 0.01, "threads": 1, **plan})
        return start(Experiment.of(recipe, torch.device("cpu")), tmp_path_factory.mktemp("runs") / "run")

    return make


@pytest.fixture(scope="session")
def digits(train: Train) -> Run:
    return train(Part("digits"), Part("mlp", {"hidden": [12]}), name="digits-mlp")


@pytest.fixture(scope="session")
def read() -> Callable[[Run], Page]:
    return lambda run: Page(write_report(run))


@pytest.fixture(scope="session")
def digits_page(digits: Run, read: Callable[[Run], Page]) -> Page:
    return read(digits)
