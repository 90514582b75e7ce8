"""The search is judged on validation, repeats itself, goes on after a crash, and keeps its best run."""

import json
import shutil
from dataclasses import replace

import optuna
import pytest
import torch
from optuna.trial import TrialState

from gradlab.errors import GradlabError, Interrupted
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.studies.pages import sweep as pages
from gradlab.studies.search import claim_trial, open_search
from gradlab.studies.sweep import plan_search, sweep
from gradlab.studies.trial import best_trial
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer

SPACE = {"train.lr": "1e-4:1:log", "model.hidden": "4/8,8"}


def plan(recipe, out, trials=3, **options):
    given = {"jobs": 1, "storage": None, "metric": None, **options}
    return plan_search(recipe, SPACE, trials, out, "cpu", **given)


def states(out, recipe):
    return [t.state for t in open_search(plan(recipe, out)).get_trials()]


def test_a_database_that_was_half_made_is_made_again(small, out, monkeypatch):
    """A process that dies after the tables are there, and before the study is."""
    planned = plan(small, out)
    out.mkdir(parents=True)

    def killed(**options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(optuna, "create_study", killed)
        with pytest.raises(KeyboardInterrupt):
            open_search(planned)
    assert sorted(path.name for path in out.iterdir()) == [".search.lock"]
    assert open_search(planned).get_trials() == []


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\x00" + b"x" * 2000])
def test_a_database_that_is_damaged_is_told(small, out, content):
    planned = plan(small, out)
    out.mkdir(parents=True)
    (out / "study.db").write_bytes(content)
    with pytest.raises(GradlabError, match=r"study\.db cannot be used: .*--out FOLDER"):
        open_search(planned)


def test_the_value_is_the_first_metric_on_the_validation_split(small, out):
    found = sweep(small, SPACE, 4, out, "cpu")
    assert found.metric == "accuracy"
    assert found.higher_is_better
    complete = [trial for trial in found.trials if trial.complete]
    assert complete
    for trial in complete:
        result = json.loads((found.run(trial) / "result.json").read_text())
        assert trial.value == result["validation"]["accuracy"]
    assert found.best is not None
    assert found.best.value == max(trial.value for trial in complete)


def test_a_metric_that_should_be_low_is_minimised(out, tmp_path):
    recipe = find("linear-regression").override({"data.examples": 60, "train.steps": 6})
    for number, metric in enumerate([None, "loss", "r2"]):
        found = sweep(recipe, {"train.lr": "1e-4:0.3:log"}, 3, tmp_path / str(number), "cpu", metric=metric)
        values = [trial.value for trial in found.trials if trial.complete]
        assert found.metric == (metric or "rmse")
        assert found.best is not None
        assert found.best.value == (max if metric == "r2" else min)(values)


def test_the_best_run_is_what_its_command_trains(small, out, tmp_path):
    found = sweep(small, {**SPACE, "train.steps": "10"}, 3, out, "cpu")
    assert found.best is not None
    overrides = dict(pair.split("=", 1) for pair in found.overrides.split())
    assert overrides.keys() == {"train.lr", "model.hidden", "train.steps"}
    again = experiment.start(Experiment.of(small.override(overrides), torch.device("cpu")), tmp_path / "again")
    kept = open_run(found.run(found.best))
    assert again.validation == kept.validation
    assert again.test == kept.test
    for ours, theirs in zip(again.model.state_dict().values(), kept.model.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


def test_of_the_other_runs_everything_but_the_weights_is_kept(small, out):
    found = sweep(small, SPACE, 4, out, "cpu")
    assert found.best is not None
    with_weights = [p.parent.name for p in (out / "trials").glob("trial-*/checkpoints")]
    assert with_weights == [found.run(found.best).name]
    assert (found.run(found.best) / "report.html").exists()
    for trial in found.trials:
        assert (found.run(trial) / "recipe.toml").exists()
        assert (found.run(trial) / "metrics.jsonl").exists()


def test_the_same_seed_tries_the_same_values_and_another_seed_others(small, out, tmp_path):
    first = sweep(small, SPACE, 3, out, "cpu")
    second = sweep(small, SPACE, 3, tmp_path / "second", "cpu")
    other = sweep(small.override({"train.seed": 7}), SPACE, 3, tmp_path / "other", "cpu")
    assert [t.changes for t in first.trials] == [t.changes for t in second.trials]
    assert [t.value for t in first.trials] == [t.value for t in second.trials]
    assert [t.changes for t in first.trials] != [t.changes for t in other.trials]
    assert len({t.changes["train.lr"] for t in first.trials}) == 3


class Stop(Observer):
    """Stops the n-th training at a step, as Ctrl-C would."""

    def __init__(self, number, step):
        self.number, self.every, self.seen = number, step, 0

    def start(self, training):
        self.seen += 1

    def step(self, training):
        if self.seen == self.number:
            training.request("stop")


def test_a_stopped_search_goes_on_with_the_trial_it_was_in_and_ends_as_if_nothing_had_happened(small, out, tmp_path):
    with pytest.raises(Interrupted):
        sweep(small, SPACE, 4, out, "cpu", observers=[Stop(2, 5)])
    assert states(out, small) == [TrialState.COMPLETE, TrialState.RUNNING]

    begun = []

    class Count(Observer):
        def start(self, training):
            begun.append(training.progress.step)

    again = sweep(small, SPACE, 4, out, "cpu", observers=[Count()])
    assert begun == [5, 0, 0]
    whole = sweep(small, SPACE, 4, tmp_path / "whole", "cpu")
    assert [(t.changes, t.value, t.ended) for t in again.trials] == [
        (t.changes, t.value, t.ended) for t in whole.trials
    ]


def test_a_finished_search_trains_nothing_and_a_larger_number_goes_on(small, out):
    first = sweep(small, SPACE, 2, out, "cpu")

    class Count(Observer):
        seen = 0

        def start(self, training):
            self.seen += 1

    count = Count()
    assert sweep(small, SPACE, 2, out, "cpu", observers=[count]) == first
    assert count.seen == 0
    more = sweep(small, SPACE, 4, out, "cpu", observers=[count])
    assert count.seen == 2
    assert more.trials[:2] == first.trials


def test_a_trial_that_a_living_process_holds_is_left_to_it(small, out):
    sweep(small, SPACE, 1, out, "cpu")
    study = open_search(plan(small, out))
    first = claim_trial(plan(small, out), study)
    second = claim_trial(plan(small, out), study)
    assert first is not None
    assert second is not None
    assert first[0].number != second[0].number
    assert claim_trial(plan(small, out), study) is None  # one ended, two at work: there will be three
    first[1].drop()  # as the end of its process would
    taken = claim_trial(plan(small, out), study)
    assert taken is not None
    assert taken[0].number == first[0].number
    for _, claim in (second, taken):
        claim.drop()


def test_a_trial_that_died_before_it_had_values_is_given_some(small, out):
    sweep(small, SPACE, 1, out, "cpu")
    study = open_search(plan(small, out))
    study.ask()  # and there the process was killed
    found = sweep(small, SPACE, 2, out, "cpu")
    assert [t.number for t in found.trials] == [0, 1]
    assert set(found.trials[1].changes) == set(SPACE)


def test_a_trial_whose_run_had_ended_is_only_told(small, out):
    sweep(small, SPACE, 2, out, "cpu")
    (out / "study.db").unlink()  # the runs are there, the memory of them is not
    found = sweep(small, SPACE, 2, out, "cpu")
    assert [t.ended for t in found.trials] == ["complete", "complete"]


def test_hopeless_trials_are_given_up(out):
    recipe = find("moons-mlp").override({"data.examples": 200, "train.epochs": 5, "model.hidden": [8]})
    found = sweep(recipe, {"train.lr": "1e-8,1e-2", "train.seed": "0:99"}, 14, out, "cpu", metric="loss")
    pruned = [trial for trial in found.trials if trial.ended == "pruned"]
    assert "1e-08" in {trial.changes["train.lr"] for trial in pruned}
    assert found.best is not None
    assert found.best.changes["train.lr"] == "0.01"
    assert not (found.run(pruned[0]) / "result.json").exists()
    assert all(trial.ended in ("complete", "pruned") for trial in found.trials)
    assert len(found.trials) == 14


def test_a_trial_that_diverges_counts_and_is_told(out):
    recipe = find("linear-regression").override({"data.examples": 60, "train.epochs": 40})
    found = sweep(recipe, {"train.lr": "0.01,1e30"}, 6, out, "cpu")
    assert {trial.ended for trial in found.trials} == {"complete", "diverged"}
    assert found.best is not None
    assert found.best.changes["train.lr"] == "0.01"


def test_values_that_do_not_go_together_are_told_and_the_search_goes_on(out):
    recipe = find("digits-dropout").override({"model.hidden": [4], "train.steps": 3})
    found = sweep(recipe, {"train.batch_size": "64,1"}, 5, out, "cpu")
    refused = [trial for trial in found.trials if trial.ended.startswith("refused")]
    assert refused
    assert "Batch normalisation" in refused[0].ended
    assert found.best is not None
    assert found.best.changes["train.batch_size"] == "64"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "--trials 0"),
        ({"jobs": 0}, "--jobs 0"),
        ({"metric": "acuracy"}, "Did you mean 'accuracy'"),
        ({"storage": "nonsense"}, "storage nonsense cannot be used"),
    ],
)
def test_bad_requests_are_refused(small, out, options, message):
    given = {"trials": 2, **options}
    with pytest.raises(GradlabError, match=message):
        sweep(small, SPACE, given.pop("trials"), out, "cpu", **given)
    assert not out.exists()


def test_without_a_validation_split_there_is_nothing_to_judge_by(small, out):
    with pytest.raises(GradlabError, match="validation split"):
        sweep(small.override({"data.validation": 0}), SPACE, 2, out, "cpu")
    assert not out.exists()


def test_another_space_or_recipe_in_the_same_folder_is_refused(small, out):
    sweep(small, SPACE, 1, out, "cpu")
    with pytest.raises(GradlabError, match="holds another study"):
        sweep(small, {**SPACE, "train.lr": "1e-3:1:log"}, 2, out, "cpu")
    with pytest.raises(GradlabError, match="holds another study"):
        sweep(small.override({"train.steps": 11}), SPACE, 2, out, "cpu")


def test_two_folders_may_share_a_storage_by_one_name(small, tmp_path):
    storage = f"sqlite:///{tmp_path / 'shared.db'}"
    sweep(small, SPACE, 1, tmp_path / "one" / "study", "cpu", storage=storage)
    found = sweep(small, SPACE, 3, tmp_path / "two" / "study", "cpu", storage=storage)
    assert len(found.trials) == 3
    assert not (tmp_path / "two" / "study" / "study.db").exists()
    assert (found.best_run is None) == (found.best is not None and found.best.number == 0)
    with pytest.raises(GradlabError, match="holds another sweep"):
        sweep(small, {"train.lr": "0.1:1"}, 1, tmp_path / "three" / "study", "cpu", storage=storage)


def test_the_report_shows_every_knob(small, out):
    sweep(small, SPACE, 3, out, "cpu", command="gradlab train moons-mlp")
    page = (out / "report.html").read_text()
    for key in SPACE:
        assert f"<h3>{key}</h3>" in page
    assert "gradlab train moons-mlp" in page


def test_the_best_of_equal_trials_is_the_first():
    made = [
        optuna.trial.create_trial(value=value, params={}, distributions={}, state=TrialState.COMPLETE)
        for value in (1.0, 2.0, 2.0)
    ]
    for number, trial in enumerate(made):
        trial.number = number
    best = best_trial(made, maximise=True)
    assert best is made[1]


def test_importance_comes_with_enough_trials(small, out):
    few = sweep(small, SPACE, 2, out, "cpu")
    assert few.importance == {}
    shutil.rmtree(out)
    many = sweep(small.override({"train.steps": 4, "train.evaluate_every": 4}), SPACE, 12, out, "cpu")
    assert set(many.importance) == set(SPACE)
    assert sum(many.importance.values()) == pytest.approx(1)


def test_trials_that_are_equal_are_a_tie(small, out):
    whole = sweep(small, SPACE, 3, out, "cpu")
    values = lambda *values: replace(  # noqa: E731
        whole, trials=[replace(t, ended="complete", value=v) for t, v in zip(whole.trials, values, strict=True)]
    )
    assert (values(0.9, 0.8, 0.7).tied, values(0.9, 0.8, 0.7).tie) == ([], "")
    some, every = values(0.8, 0.9, 0.9), values(0.9, 0.9, 0.9)
    assert [trial.number for trial in some.tied] == some.to_json()["tied"] == [1, 2]
    assert some.tie.startswith("of the trials, 2 have the same validation accuracy, 0.9000")
    assert every.tie.startswith("all 3 have the same validation accuracy")
    assert "All 3 have the same" in pages.report(every, "gradlab train")
    assert "have the same" not in pages.report(values(0.9, 0.8, 0.7), "gradlab train")
