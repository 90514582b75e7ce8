import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_iris

from gradlab.errors import GradlabError, TrainingError
from gradlab.recipes import find
from gradlab.run import Run, open_run
from gradlab.training import experiment
from gradlab.training.observers import Observer

CPU = torch.device("cpu")


def start(folder, name="iris-softmax", observers=(), **changes):
    recipe = find(name).override({"train.epochs": 5, **{k.replace("__", "."): v for k, v in changes.items()}})
    return experiment.start(experiment.Experiment.of(recipe, CPU), folder, observers)


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    return start(tmp_path_factory.mktemp("runs") / "iris")


@pytest.fixture(scope="module")
def diabetes(tmp_path_factory):
    return start(tmp_path_factory.mktemp("runs") / "diabetes", "diabetes-linear")


def test_the_folder_is_readable_without_gradlab(iris):
    names = {p.name for p in iris.path.iterdir()}
    assert {"recipe.toml", "environment.json", "data.json", "metrics.jsonl", "checkpoints", "result.json"} <= names
    assert tomllib.loads((iris.path / "recipe.toml").read_text())["recipe"] == "iris-softmax"
    for name in ("environment.json", "data.json", "result.json"):
        json.loads((iris.path / name).read_text())
    for line in (iris.path / "metrics.jsonl").read_text().splitlines():
        json.loads(line)


def test_nothing_in_the_folder_is_pickled(iris):
    kinds = {p.suffix for p in iris.path.rglob("*") if p.is_file() and p.name not in ("SHA256SUMS", ".lock")}
    assert kinds == {".toml", ".json", ".jsonl", ".safetensors"}


def test_the_recipe_in_the_folder_is_resolved_and_trains_the_same_run(iris, tmp_path):
    recipe = find(str(iris.path / "recipe.toml"))
    assert experiment.resolve(recipe) == experiment.resolve(iris.recipe)
    again = experiment.start(experiment.Experiment.of(recipe, CPU), tmp_path / "again")
    assert again.test == iris.test
    for name, value in iris.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], value)


def test_figures_computed_anew_are_those_of_the_result(iris):
    opened = open_run(iris.path)
    assert opened.evaluate("test") == pytest.approx(iris.test)
    assert opened.evaluate("validation") == pytest.approx(iris.validation)


def test_every_figure_stands_beside_the_trivial_baseline(iris):
    baseline = iris.finished["baseline"]
    assert baseline["name"] == "majority class"
    assert baseline["test"]["accuracy"] == pytest.approx(1 / 3)
    assert iris.test["accuracy"] > 0.8


def test_predictions_are_names_of_classes_for_raw_inputs(iris):
    bunch = load_iris()
    names = bunch.target_names[bunch.target]
    opened = open_run(iris.path)
    assert (opened.predict(bunch.data) == names).mean() > 0.9
    assert (opened.predict(bunch.data.tolist()) == opened.predict(bunch.data)).all()
    (said,) = opened.describe(bunch.data[:1])
    assert said["label"] == "setosa"


def test_predictions_of_numbers_are_in_the_units_of_the_target(diabetes):
    bunch = load_diabetes(scaled=False)
    values = open_run(diabetes.path).predict(bunch.data)
    assert np.corrcoef(values, bunch.target)[0, 1] > 0.6
    assert abs(values.mean() - bunch.target.mean()) < 10


def test_using_a_run_leaves_the_generator_of_the_caller_alone(iris):
    state = torch.get_rng_state()
    open_run(iris.path).predict(load_iris().data)
    assert torch.equal(torch.get_rng_state(), state)


def test_an_input_of_another_shape_is_refused_with_both_shapes(iris):
    with pytest.raises(GradlabError, match=r"must have shape \(4,\), got \(3,\)"):
        iris.predict(np.zeros((2, 3)))


def test_an_existing_folder_is_refused_and_left_alone(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(GradlabError, match="exists already"):
        start(tmp_path / "taken")
    assert not list((tmp_path / "taken").iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GradlabError, match=r"run cannot be written: (Not a directory|File exists)"):
        start(tmp_path / "file" / "run")


def test_a_log_line_torn_at_any_byte_is_left_out(iris, tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [line for line in (iris.path / "metrics.jsonl").read_bytes().splitlines(True) if b"update_ratio" in line]
    run = Run(tmp_path)
    run.sums.create([])
    for length in range(len(lines[1]) - 1):
        path.write_bytes(lines[0] + lines[1][:length])
        assert run.metrics == [json.loads(lines[0])], lines[1][:length]
    path.write_bytes(lines[0] + lines[1])
    assert len(run.metrics) == 2


def test_a_run_without_a_log_has_no_lines(tmp_path):
    assert Run(tmp_path).metrics == []


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_a_damaged_file_is_named(content, iris, tmp_path):
    (tmp_path / "environment.json").write_bytes(content)
    run = Run(tmp_path)
    run.sums.create(["environment.json"])
    with pytest.raises(GradlabError, match=r"environment\.json (is damaged|cannot be read)"):
        _ = run.environment


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(GradlabError, match="is not a folder"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(GradlabError, match=r"is not a run: it has no recipe\.toml"):
        open_run(tmp_path)


def test_a_run_is_one_line_of_text_and_a_table_with_curves_in_a_notebook(iris):
    assert repr(iris).startswith(f"Run({iris.path}, {iris.recipe.name}, ")
    assert f"test loss {iris.test['loss']:.4f}" in repr(iris)
    html = iris._repr_html_()
    assert "majority class (test)" in html
    assert html.count("<svg") == 2
    assert len(html) < 15_000


def test_a_damaged_run_is_shown_by_its_folder(iris, tmp_path):
    assert repr(Run(tmp_path)) == f"Run({tmp_path})"
    damaged = Path(shutil.copytree(iris.path, tmp_path / "damaged"))
    (damaged / "result.json").write_text("{")
    assert repr(Run(damaged)) == f"Run({damaged})"
    assert Run(damaged)._repr_html_() is None


class Interrupts(Observer):
    every = 2

    def step(self, training):
        training.request("stop")


def test_an_interrupted_run_is_not_finished_and_goes_on_to_the_same_bits(iris, tmp_path):
    with pytest.raises(GradlabError, match="Stopped and saved at step 2") as caught:
        start(tmp_path / "run", observers=[Interrupts()])
    assert caught.value.exit_code == 130
    run = open_run(tmp_path / "run")
    assert "not finished, at step 2" in repr(run)
    assert f"gradlab resume {run.path}" in run._repr_html_()
    with pytest.raises(GradlabError, match=r"is not finished\. Go on with: gradlab resume"):
        _ = run.test
    experiment.resume(run, CPU, [])
    assert run.test == iris.test
    without_clock = [[{**line, "seconds": 0} for line in r.metrics] for r in (run, iris)]
    assert without_clock[0] == without_clock[1]


def test_a_run_whose_data_have_changed_is_neither_resumed_nor_judged(tmp_path):
    def save(shift):
        generator = np.random.default_rng(0)
        np.savez(tmp_path / "mine.npz", x=generator.normal(size=(60, 3)) + shift, y=np.arange(60) % 3)

    save(0)
    with pytest.raises(GradlabError, match="Stopped"):
        start(tmp_path / "run", "npz", observers=[Interrupts()], data__path=str(tmp_path / "mine.npz"))
    save(1)
    with pytest.raises(GradlabError, match="not the ones it began with"):
        experiment.resume(open_run(tmp_path / "run"), CPU, [])
    with pytest.raises(GradlabError, match="not the ones it was trained on"):
        open_run(tmp_path / "run").evaluate()


def test_only_one_process_trains_a_run(iris):
    other = open_run(iris.path)
    with iris.locked(), pytest.raises(GradlabError, match="is being trained by another process"), other.locked():
        pass
    with other.locked():
        pass


def test_a_run_without_a_sound_checkpoint_has_no_model(tmp_path):
    run = start(tmp_path / "run")
    for file in run.checkpoints.rglob("model.safetensors"):
        file.write_bytes(b"")
    with pytest.raises(GradlabError, match=r"has no model to use: .*model\.safetensors is damaged"):
        _ = open_run(run.path).model


def test_a_relative_path_to_the_data_is_stored_in_full(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    np.savez("mine.npz", x=rng.normal(size=(60, 3)), y=np.arange(60) % 3)
    run = start(tmp_path / "run", "npz", data__path="mine.npz")
    assert run.recipe.data.values["path"] == str(tmp_path / "mine.npz")
    assert Path(run.recipe.data.values["path"]).is_absolute()


def test_a_diverging_run_keeps_its_last_sound_checkpoint(tmp_path):
    with pytest.raises(TrainingError, match="Training diverged in step"):
        start(
            tmp_path / "run",
            "linear-regression",
            train__lr=1e3,
            train__epochs=200,
            train__checkpoint_every=2,
        )
    model = open_run(tmp_path / "run").model
    assert all(p.isfinite().all() for p in model.parameters())


def test_a_split_that_is_empty_is_told_and_not_judged(tmp_path):
    run = start(tmp_path / "run", data__validation=0)
    assert run.validation == {}
    with pytest.raises(GradlabError, match="has no examples in its validation split"):
        run.evaluate("validation")


def test_probabilities_may_be_asked_for_at_the_temperature_of_the_run(iris):
    x = load_iris().data[::10]
    opened = open_run(iris.path)
    temperature = opened.finished["calibration"]["temperature"]
    assert temperature == opened.temperature != 1
    expected = (opened.outputs(x).double() / temperature).softmax(1)
    plain, calm = opened.describe(x), opened.describe(x, calibrated=True)
    assert [list(p["probabilities"].values()) for p in calm] == [pytest.approx(row.tolist()) for row in expected]
    assert calm != plain
    assert (opened.predict(x, calibrated=True) == opened.predict(x)).all()


def test_calibration_is_told_beside_the_other_figures(iris):
    calibration = iris.finished["calibration"]
    assert calibration["split"] == "validation"
    assert calibration["test_ece"] == pytest.approx(iris.test["ece"])
    assert 0 <= calibration["test_ece_calibrated"] <= 1


def test_a_run_without_a_temperature_says_why(diabetes, tmp_path):
    whole = start(tmp_path / "whole", data__validation=0)
    for run, x in ((diabetes, load_diabetes(scaled=False).data), (whole, load_iris().data)):
        assert "calibration" not in run.finished
        with pytest.raises(GradlabError, match=r"has no temperature to calibrate with.*validation split"):
            run.predict(x, calibrated=True)


def test_counts_and_two_classes_by_one_output_are_trained_and_used(tmp_path):
    logistic = start(tmp_path / "logistic", "breast-cancer-logistic")
    raw = logistic.dataset.raw
    assert logistic.outputs(raw.inputs[:3]).shape == (3, 1)
    assert (logistic.predict(raw.inputs) == np.array(raw.classes)[raw.targets]).mean() > 0.95
    assert set(logistic.describe(raw.inputs[:1])[0]) == {"label", "probability", "probabilities"}
    poisson = start(tmp_path / "poisson", "counts-poisson")
    raw = poisson.dataset.raw
    assert poisson.predict(raw.inputs).sum() == pytest.approx(raw.targets.sum(), rel=0.05)
    assert poisson.test["deviance"] < poisson.finished["baseline"]["test"]["deviance"] / 2
