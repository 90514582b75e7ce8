"""What docs/doctor.md says, done: its commands, its Python, and the schema of what `--json` writes."""

import copy
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from page import Page

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Finding, Verdict
from gradlab.diagnosis.ranks import merged
from gradlab.diagnosis.series import Series
from gradlab.files import json_text

PAGE = Page(Path(__file__).parents[2] / "docs" / "doctor.md")
SCHEMA = json.loads(PAGE.blocks("json")[0])
KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def misfits(value: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """Where a value does not fit a JSON Schema, of as many words as the page uses."""
    if "$ref" in schema:
        return misfits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", list(KINDS))
    fits = any(isinstance(value, KINDS[kind]) for kind in kinds)
    if not fits or (isinstance(value, bool) and "boolean" not in kinds):  # to Python, True is a number
        return [f"{where} is no {kinds}: {value!r}"]
    wrong = []
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        wrong.append(f"{where} may not be {value!r}")
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if isinstance(value, (int, float)) and not low <= value <= high:
        wrong.append(f"{where} is out of range: {value}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            wrong.append(f"{where} has {len(value)} items")
        for item in value:
            wrong += misfits(item, schema.get("items", {}), f"{where}[]")
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        wrong += [f"{where} has no {key}" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            if key not in known and others is False:
                wrong.append(f"{where} has {key}, which is not described")
            else:
                wrong += misfits(item, known.get(key, others), f"{where}.{key}")
    return wrong


def training(steps: int = 60) -> Verdict:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(-1))
    optimizer = torch.optim.SGD(model.parameters(), lr=30.0)
    with Doctor(tell=False) as doctor:
        for _ in range(steps):
            x = torch.randn(16, 3)
            torch.nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
            optimizer.step()
    return doctor.verdict


def strange() -> Verdict:
    course = Series()
    course.add(0, math.nan)
    measured = {"rate": math.inf, "name": "net", "shape": (2, 3), "count": 4}
    finding = Finding(slug="a", severity="note", confidence=1.0, since_step=0, evidence="", fix="", measured=measured)
    others = Finding(slug="b", severity="error", confidence=0.5, since_step=3, evidence="", fix="", series=course)
    return Verdict(findings=[finding, others], steps=3, seconds=0.1234567, faults=["of its own"])


VERDICTS = {
    "a training": training,
    "no training": lambda: training(0),
    "what is no number": strange,
    "several ranks": lambda: merged({0: training(20), 1: training(20)}),
}


def written(verdict: Verdict) -> Any:
    return json.loads(json_text(verdict.as_json()))


@pytest.mark.parametrize("name", VERDICTS)
def test_what_is_written_fits_the_schema(name):
    assert misfits(written(VERDICTS[name]()), SCHEMA) == []


def test_every_key_that_is_described_is_written():
    shown = written(merged({0: training(20)}))
    assert set(shown) == set(SCHEMA["properties"])
    assert set(shown["findings"][0]) == set(SCHEMA["$defs"]["finding"]["properties"])
    assert set(shown["findings"][0]["place"][0]) == set(SCHEMA["$defs"]["spot"]["properties"])


def test_what_does_not_fit_is_seen():
    right = written(training())
    for of_finding, key, value in (
        (False, "schema", 2),
        (False, "healthy", 1),
        (False, "steps", -1),
        (False, "more", ""),
        (True, "severity", "fatal"),
        (True, "confidence", 1.2),
        (True, "place", [{"what": "net"}]),
        (True, "series", [[1]]),
        (True, "measured", {"a": {}}),
    ):
        changed = copy.deepcopy(right)
        (changed["findings"][0] if of_finding else changed)[key] = value
        assert len(misfits(changed, SCHEMA)) >= 1, (key, value)
    del right["findings"][0]["slug"]
    assert misfits(right, SCHEMA) == [".findings[] has no slug"]


def test_the_commands_print_what_stands_under_them(tmp_path):
    shutil.copytree(PAGE.path.parents[1] / "examples", tmp_path / "examples")
    assert PAGE.shown()
    PAGE.check_commands(tmp_path)


def test_the_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook, marked = PAGE.blocks("python")
    exec(compile(notebook, "doctor.md", "exec"), {})
    compile(marked, "doctor.md", "exec")  # the mark is known where gradlab's plugin is loaded
    assert (tmp_path / "doctor.html").exists()
