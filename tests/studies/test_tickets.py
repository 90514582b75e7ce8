"""Tickets, controls and dense networks are trainings of one recipe, and their table is what NumPy says of them."""

import json
import re

import numpy as np
import pytest
import scipy.stats
import torch

from gradlab.errors import GradlabError
from gradlab.run import open_run
from gradlab.studies.tickets import find_tickets
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer


class Never(Observer):
    def start(self, training):
        raise AssertionError("trained again")


@pytest.fixture
def run(small, cpu, tmp_path):
    return experiment.start(Experiment.of(small.override({"model.hidden": [16]}), cpu), tmp_path / "dense")


def masks_of(path):
    return open_run(path).start.masks


def test_the_study_of_two_seeds(run, out, cpu):
    found = find_tickets(run, 0.25, out, cpu, rounds=2, seeds=2, per_layer=True)
    assert found.seeds == [0, 1]
    assert found.shares == [0.5, 0.25]
    assert len(found.members) == 2 * (1 + 2 + 2)

    # The dense network of a seed is a plain training with it.
    assert open_run(out / "seed-0-dense").test == run.test
    other = Experiment.of(run.recipe.override({"train.seed": 1}), cpu)
    assert experiment.start(other, out.with_name("alone")).test == open_run(out / "seed-1-dense").test

    for seed in found.seeds:
        drawn = Experiment.of(run.recipe.override({"train.seed": seed}), cpu).model.state_dict()
        for number in (1, 2):
            ticket, control = (open_run(out / f"seed-{seed}-{way}-{number}").start for way in ("ticket", "reinit"))
            for name, mask in ticket.masks.items():
                assert torch.equal(ticket.weights[name][mask], drawn[name][mask])
                assert torch.equal(control.masks[name], mask)
                assert not torch.equal(control.weights[name][mask], drawn[name][mask])
        first, second = (masks_of(out / f"seed-{seed}-ticket-{number}") for number in (1, 2))
        assert not any((second[name] & ~first[name]).any() for name in first)

    # The table.
    assert [(row.way, row.kept) for row in found.rows] == [
        ("dense", 1.0), ("ticket", 0.5), ("reinit", 0.5), ("ticket", 0.25), ("reinit", 0.25)
    ]  # fmt: skip
    for row in found.rows:
        number = {1.0: "", 0.5: "-1", 0.25: "-2"}[row.kept]
        values = [open_run(out / f"seed-{seed}-{row.way}{number}").test[found.metric] for seed in found.seeds]
        assert row.values == values
        assert row.spread.mean == pytest.approx(np.mean(values))
        assert row.spread.std == pytest.approx(np.std(values, ddof=1))
    pairs = np.subtract(found.row("ticket", 0.25).values, found.row("reinit", 0.25).values)
    assert found.gain(0.25).mean == pytest.approx(pairs.mean())
    assert found.gain(0.25).standard_error == pytest.approx(pairs.std(ddof=1) / np.sqrt(2))

    # The page draws them, and the same call makes nothing again.
    figures = re.findall(r'<script type="application/json">(.*?)</script>', (out / "report.html").read_text(), re.S)
    traces = {t["name"]: t for t in json.loads(figures[0])["data"] if t.get("showlegend") is not False}
    assert traces.keys() == {"dense", "ticket", "reinitialised"}
    assert traces["ticket"]["x"] == [0.25, 0.5]
    assert traces["ticket"]["y"] == pytest.approx([found.row("ticket", kept).spread.mean for kept in (0.25, 0.5)])
    again = find_tickets(run, 0.25, out, cpu, rounds=2, seeds=2, per_layer=True, observers=[Never()])
    assert again.to_json() == found.to_json() == json.loads((out / "study.json").read_text())["result"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"keep": 1.0}, "--keep 1 prunes nothing"),
        ({"keep": 0.2, "seeds": 1}, "--seeds 1 is too few"),
        ({"keep": 0.2, "seeds": 50}, "--seeds 50 --rounds 5 would be 550 trainings"),
        ({"keep": 0.2, "rounds": 0}, "--rounds 0 is no number of rounds"),
        ({"keep": float("nan")}, "--keep nan is no share"),
    ],
)
def test_what_makes_no_table_is_refused_before_there_is_a_folder(run, out, cpu, asked, words):
    with pytest.raises(GradlabError, match=words):
        find_tickets(run, asked.pop("keep"), out, cpu, **asked)
    assert not out.exists()


def gains(better, worse=()):
    """A study of which only the verdict is asked, with these values of tickets and controls at two shares."""
    from pathlib import Path

    from gradlab.studies.members import Member
    from gradlab.studies.tickets import Tickets

    def member(way, kept, seed, value):
        figures = {"accuracy": value}
        changes = {"way": way, "kept": kept, "train.seed": seed}
        return Member(
            name="", changes=changes, examples=1, ended="finished", train={}, validation={}, test=figures, baseline={}
        )

    members = [member("reinit", kept, seed, 0.5 + seed / 100) for kept in (0.5, 0.1) for seed in range(3)]
    for kept, values in ((0.5, better), (0.1, worse)):
        members += [member("ticket", kept, seed, 0.5 + seed / 100 + gain) for seed, gain in enumerate(values)]
    return Tickets(
        recipe="r", of="run", path=Path("out"), split="test", metric="accuracy", higher_is_better=True,
        seeds=[0, 1, 2], shares=[0.5, 0.1], members=members,
    )  # fmt: skip


def test_the_verdict_is_that_of_the_paired_t_test():
    better, unsure = [0.010, 0.011, 0.009], [0.010, 0.002, 0.009]
    verdict = gains(better, [-0.02, -0.021, -0.019]).verdict
    assert verdict.startswith(
        "Tickets are better than their controls at 50% of the weights and worse than their controls at 10% of the "
        "weights, by 95% intervals of the gain over 3 seeds, of 2 shares compared"
    )
    # More than two standard errors, which are not enough for three seeds.
    assert np.mean(unsure) > 2 * np.std(unsure, ddof=1) / np.sqrt(3)
    assert scipy.stats.ttest_1samp(better, 0).pvalue < 0.05 < scipy.stats.ttest_1samp(unsure, 0).pvalue
    assert "cannot be distinguished" in gains(unsure, [0.0, 0.0, 0.0]).verdict
