"""Windows over series, their splits by time and their scales, against loops written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gradlab.data import load
from gradlab.data.readers import preparation_of
from gradlab.data.series.panel import Panel, TimeSeries
from gradlab.data.series.preparation import prepare_series
from gradlab.data.series.spacing import Spacing
from gradlab.errors import GradlabError
from gradlab.registry import Part

NUMBERS = Spacing(unit="number", size=1.0, origin=0.0)


def panel(rng, lengths=(120, 90), columns=2, ahead=0):
    series = [
        TimeSeries(
            name=f"s{i}",
            start=7 * i,
            values=100 * i + rng.normal(size=n).cumsum(),
            covariates=rng.normal(size=(n + ahead, columns)),
        )
        for i, n in enumerate(lengths)
    ]
    return Panel(series=series, spacing=NUMBERS, past=["past"], known=["known"])


def prepared(raw, **knobs):
    return prepare_series(raw, "series", **{"horizon": 4, "history": 10, "season": 5, **knobs})


def test_windows_are_what_a_loop_over_origins_gives(rng):
    raw = panel(rng)
    data, first, last = prepared(raw), 0, 120
    tested = last - round(0.2 * (last - first))
    validated = tested - round(0.15 * (tested - first))
    parts = {"train": (-1, validated), "validation": (validated, tested), "test": (tested, 10**9)}
    for split, (begin, end) in parts.items():
        inputs, targets = [], []
        for one in raw.series:
            training = one.values[: validated - one.start]
            std = training.std()
            known = np.concatenate([s.covariates[: validated - s.start, 1] for s in raw.series])
            for origin in range(10, len(one.values) - 4 + 1):
                position = one.start + origin
                if position < begin or position + 4 > end:
                    continue
                level = one.values[origin - 10 : origin].mean()
                targets.append((one.values[origin : origin + 4] - level) / std)
                inputs.append((one.covariates[origin - 10 : origin + 4, 1] - known.mean()) / known.std())
        examples = data.split(split)
        assert len(examples) == len(targets) > 0
        torch.testing.assert_close(examples.targets, torch.tensor(np.array(targets)).float(), atol=1e-4, rtol=0)
        seen = examples.inputs[:]
        assert seen.shape[1:] == data.preprocessing.spec.shape == (14, 1 + 2 + 2 + 1)
        torch.testing.assert_close(seen[:, :, 2], torch.tensor(np.array(inputs)).float(), atol=1e-5, rtol=0)
        assert (seen[:, 10:, :2] == 0).all()  # the series, and what is not known in advance
        assert seen[:, :10, -1].sum() == 0
        assert (seen[:, 10:, -1] == 1).all()
        assert seen[:, :10, 0].mean(1).abs().max() < 1e-5


def test_nothing_of_the_held_out_time_reaches_the_training(rng):
    raw = panel(rng)
    data = prepared(raw)
    end = 120 - 24 - round(0.15 * 96)

    def later(one):
        values, covariates = one.values.copy(), one.covariates.copy()
        values[end - one.start :] += 1000
        covariates[end - one.start :] += 1000
        return replace(one, values=values, covariates=covariates)

    other = prepared(replace(raw, series=[later(one) for one in raw.series]))
    assert other.preprocessing == data.preprocessing
    assert torch.equal(other.train.inputs[:], data.train.inputs[:])
    assert torch.equal(other.train.targets, data.train.targets)
    assert not torch.equal(other.validation.targets, data.validation.targets)
    assert other.raw.fingerprint() != data.raw.fingerprint()


def test_what_is_ahead_and_unknown_is_not_seen(rng):
    raw = panel(rng)
    data = prepared(raw)
    last = data.test.inputs[-1:]

    def other(one):
        covariates = one.covariates.copy()
        covariates[-4:, 0] += 5
        return replace(one, values=np.concatenate([one.values[:-4], one.values[-4:] + 5]), covariates=covariates)

    changed = prepared(replace(raw, series=[other(raw.series[0]), raw.series[1]]))
    assert torch.equal(changed.test.inputs[-1:], last)
    assert not torch.equal(changed.test.targets[-1:], data.test.targets[-1:])


def test_what_a_run_keeps_makes_the_same_windows_again(rng):
    preparation = prepared(panel(rng)).preprocessing
    again = preparation_of({"kind": "series", **preparation.describe()}, {}, lambda name: "")
    assert again == preparation


def test_units_are_those_of_the_file_again(rng):
    raw = panel(rng, ahead=4)
    preparation = prepared(raw).preprocessing
    series = np.empty(2, dtype=object)
    series[:] = raw.series
    zero = [0.0] * 4
    decoded = preparation.in_units(series, [{"value": zero, "low": zero, "high": zero}] * 2)
    for one, forecast in zip(raw.series, decoded, strict=True):
        assert forecast["series"] == one.name
        assert forecast["times"] == [str(one.end + i) for i in range(4)]
        np.testing.assert_allclose(forecast["value"], one.values[-10:].mean(), rtol=1e-5)


def test_a_limit_keeps_the_latest_windows_of_all_series(rng):
    raw = panel(rng)
    data, few = prepared(raw), prepared(raw, limit=20)
    assert len(few.train) == 20
    second = few.train.rows >= 120 + 4
    positions = np.where(second, few.train.rows - 124 + 7, few.train.rows)
    assert sorted(positions) == sorted([*range(max(positions) - 9, max(positions) + 1)] * 2)
    assert max(few.train.rows) == max(data.train.rows)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"history": 3}, r"data\.history=3 must hold a season"),
        ({"history": 80}, r"too few rows.*one window takes 84"),
        ({"horizon": 30, "test": 0.2}, "too few rows"),
        ({"test": 0.02}, r"The test part is 2 steps long.*Raise data\.test"),
        ({"validation": 0.02}, r"The validation part is 2 steps long"),
        ({"validation": 0.95}, "series 's1' has 0 rows before"),
    ],
)
def test_too_little_is_told_with_what_to_change(rng, knobs, words):
    with pytest.raises(GradlabError, match=words):
        prepared(panel(rng), **knobs)


def test_a_constant_series_is_no_division_by_zero():
    one = TimeSeries(name="", start=0, values=np.full(60, 3.0), covariates=np.zeros((60, 0)))
    data = prepared(Panel(series=[one], spacing=NUMBERS), history=10)
    assert data.train.targets.isfinite().all()
    assert (data.train.targets == 0).all()


def test_generated_series_are_the_same_for_the_same_seed():
    part = Part("seasonal-series", {"horizon": 24, "rows": 600, "count": 2})
    first, second = load(part, "series"), load(part, "series")
    assert first.raw.fingerprint() == second.raw.fingerprint()
    other = load(Part(part.name, {**part.values, "seed": 1}), "series")
    assert other.raw.fingerprint() != first.raw.fingerprint()
    assert first.preprocessing.parts == ["hour", "weekday"]


@pytest.mark.parametrize(("data", "task"), [("seasonal-series", "numbers"), ("moons", "series")])
def test_data_and_tasks_of_other_kinds_are_refused(data, task):
    values = {"horizon": 24} if data == "seasonal-series" else {}
    with pytest.raises(GradlabError, match=f"data={data} (are series|holds no time series)"):
        load(Part(data, values), task)
