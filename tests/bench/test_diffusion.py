"""Samples beside a pipeline of diffusers, the same up to rounding; and the samples of a run, judged; at small sizes."""

import importlib.util
import io
import json
import shutil
import warnings

import numpy as np
import pytest
import torch
from rich.console import Console

from gradlab.api import load_run, train
from gradlab.bench.diffusion import speed as bench_module
from gradlab.bench.diffusion.quality import SampleQuality
from gradlab.bench.diffusion.speed import DiffusionDrawn, DrawnRow, bench_diffusion
from gradlab.bench.diffusion.work import DiffusionWork
from gradlab.cli.benchmarks.diffusion import diffusion, show_diffusion
from gradlab.cli.benchmarks.output import Output
from gradlab.errors import GradlabError
from gradlab.tasks import Diffusion

SMALL = {"width": 8, "multiples": [1, 2], "blocks": 1, "batch": 3, "steps": 10}


@pytest.fixture(scope="module")
def pipelines():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("diffusers")


class InThisProcess:
    """A worker that is none."""

    def __init__(self, precision, **work):
        self.work = DiffusionWork(**work)
        self.draw = self.work.by_gradlab() if precision is None else self.work.by_diffusers(precision)

    def ask(self, question):
        return self.work.answer(self.draw, question["guidance"])


@pytest.fixture
def without_processes(pipelines, monkeypatch):
    about = {"device": "CPU", "versions": "gradlab 1"}
    monkeypatch.setattr(bench_module, "start", lambda *asked: (InThisProcess(**asked[-1]), about))
    monkeypatch.setitem(bench_module.SIZES, "cpu", SMALL)


# Speed.


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of theirs
def test_both_draw_the_same_samples_guided_and_not(without_processes):
    plain, guided = bench_diffusion(lambda _: None, rounds=1)
    for one, guidance in ((plain, 1.0), (guided, 2.0)):
        assert [row.title for row in one.rows] == ["gradlab", "diffusers"]
        assert (one.guidance, one.reference, one.rows[1].ratio) == (guidance, "diffusers", 1.0)
        assert one.rows[0].difference == 0 < one.rows[1].difference < 1e-4
        assert one.rows[0].samples_per_second == pytest.approx(3 / (10 * one.rows[0].milliseconds / 1e3))
    assert "3 samples in 10 steps" in shown([plain])


def test_samples_depend_on_the_network_the_class_and_the_guidance():
    work = DiffusionWork(**SMALL, device="cpu")
    drawn = {guidance: work.answer(work.by_gradlab(), guidance)["numbers"] for guidance in (1.0, 2.0)}
    work.labels = work.labels + 1
    others = work.answer(work.by_gradlab(), 1.0)["numbers"]
    for one in (drawn[2.0], others):
        assert np.abs(np.subtract(drawn[1.0], one)).max() > 0.01 * np.abs(drawn[1.0]).max()


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("other", [{"timestep_spacing": "leading"}, {"beta_schedule": "linear"}, {"solver_order": 1}])
def test_a_pipeline_of_other_steps_is_refused(without_processes, monkeypatch, other):
    from gradlab.bench.diffusion import pipeline as diffusion_pipeline

    made = diffusion_pipeline.DPMSolverMultistepScheduler
    monkeypatch.setattr(diffusion_pipeline, "DPMSolverMultistepScheduler", lambda **settings: made(**settings | other))
    with pytest.raises(
        GradlabError, match=r"diffusers does other work than gradlab: its samples differ by .* compared"
    ):
        list(bench_diffusion(lambda _: None, rounds=1))


def test_without_diffusers_there_is_one_message(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(GradlabError, match=r'diffusers is not installed: pip install "gradlab\[bench\]"'):
        list(bench_diffusion(lambda _: None))


@pytest.mark.slow
def test_contestants_are_processes_of_their_own(pipelines):
    plain, guided = bench_diffusion(lambda _: None, rounds=2, **SMALL)
    assert plain.versions == guided.versions
    assert "diffusers" in plain.versions
    assert max(row.difference for one in (plain, guided) for row in one.rows) < 1e-4


def shown(results):
    screen = Console(file=io.StringIO(), width=120)
    show_diffusion(screen, results)
    return screen.file.getvalue()


def test_the_table_says_what_was_measured():
    row = DrawnRow(title="gradlab", ratio=0.5, milliseconds=3.1, samples_per_second=412, difference=3e-7)
    about = {"title": "64 samples", "reference": "diffusers", "rounds": 3, "parameters": 652_824, "guidance": 2.0}
    text = shown([DiffusionDrawn(rows=[row], device="CPU", versions="gradlab 1", **about)])
    assert ["gradlab", "0.50", "3.10", "412", "3e-07"] in [line.split() for line in text.splitlines()]
    assert "64 samples, guidance 2: ratio to diffusers" in text
    assert "653 k parameters" in text


# Quality.


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A network that has hardly learned to draw, and one that knows digits in other units than it sees them in."""
    folder = tmp_path_factory.mktemp("runs")
    changes = {"train.steps": 60, "task.steps": 20, "task.sampling_steps": 10, "model.dim": 32, "model.layers": 1}
    train("digits-diffusion", changes | {"doctor": "off"}, out=folder / "drawing")
    train("digits-mlp", {"train.epochs": 3, "data.preprocess": "scale", "doctor": "off"}, out=folder / "digits")
    train("iris-softmax", {"train.epochs": 1, "doctor": "off"}, out=folder / "iris")
    train("diabetes-linear", {"train.epochs": 1, "doctor": "off"}, out=folder / "diabetes")
    return folder


def run_of(runs, name):
    return load_run(runs / name)


def test_every_sampler_stands_beside_real_examples(runs):
    lines, classifier = [], run_of(runs, "digits")
    found = SampleQuality(run_of(runs, "drawing"), classifier, samples=100).measure(lines.append)
    *drawn, real = found.rows
    assert [row.title for row in drawn] == ["ddpm, 20 steps", "ddim, 20 steps", "dpm, 20 steps", "dpm, 10 steps"]
    assert lines[1:] == [f"{row.title}: drawing 1,000 samples" for row in drawn]
    assert all(row.frechet > real.frechet > 0 and row.seconds > 0 for row in drawn), "it has hardly learned"
    assert all(0 <= row.recognised < real.recognised for row in drawn)
    assert real.recognised == pytest.approx(classifier.test["accuracy"], abs=0.003), "the same test examples, in units"
    assert (found.samples, found.dimension, found.fast, found.slow) == (100, 64, "dpm, 20 steps", "ddpm, 20 steps")
    ddpm, _, dpm, _ = drawn
    error = (ddpm.frechet_se**2 + dpm.frechet_se**2) ** 0.5
    assert found.no_worse == (dpm.frechet <= ddpm.frechet + 2 * error)
    text = shown([found])
    assert "(64 numbers)" in text
    assert text.splitlines()[-1].startswith("dpm, 20 steps, beside ddpm, 20 steps: ")


def test_a_model_that_draws_real_examples_is_as_good_as_they_are(runs, monkeypatch):
    run, classifier = run_of(runs, "drawing"), run_of(runs, "digits")
    examples = run.task.encoded(run.dataset.train)
    asked = []

    def draw(task, model, count, request):
        """A training example of each class that is asked for, at random."""
        asked.append(request.labels)
        places = torch.rand(count, len(examples)) * (examples.targets == request.labels[:, None])
        return examples.inputs[:][places.argmax(1)]

    monkeypatch.setattr(Diffusion, "draw", draw)
    found = SampleQuality(run, classifier, samples=100).measure(lambda _: None)
    *drawn, real = found.rows
    for row in drawn:
        assert row.frechet < 1.5 * real.frechet
        assert row.recognised == pytest.approx(classifier.evaluate("train")["accuracy"], abs=0.02)
        assert min(row.precision, row.recall) > 0.8
    assert found.no_worse
    for labels in asked:
        counts = torch.bincount(labels)
        assert counts.max() - counts.min() <= 1, "classes in equal numbers"
        assert torch.equal(labels, asked[0])


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_all_is_told_as_one_json_object(runs, without_processes, capsys):
    options = {"classifier": str(runs / "digits"), "samples": 70, "rounds": 1}
    diffusion(str(runs / "drawing"), **options, output=Output(as_json=True))
    *speed, quality = json.loads(capsys.readouterr().out)["results"]
    assert [one["guidance"] for one in speed] == [1.0, 2.0]
    assert quality["run"] == str(runs / "drawing")
    assert quality["rows"][-1]["title"] == "real examples"
    assert quality["rows"][-1]["seconds"] is None
    assert isinstance(quality["no_worse"], bool)


@pytest.mark.parametrize(
    ("run", "options", "words"),
    [
        ("digits", {}, r"digits is no diffusion: it learned task=classify"),
        ("drawing", {"classifier": "diabetes"}, r"diabetes is no classifier: it learned task=regress"),
        ("drawing", {"classifier": "iris"}, r"iris knows other classes than .*drawing draws: setosa, .*, not 0, 1, 2"),
        ("drawing", {"samples": 64}, r"64 samples .* are too few to judge by: .* at least 65 are needed"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_measured(runs, run, options, words):
    chosen = {name: str(runs / value) if name == "classifier" else value for name, value in options.items()}
    with pytest.raises(GradlabError, match=words):
        diffusion(str(runs / run), **chosen)


def test_a_classifier_of_other_shapes_is_refused(runs, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "wide.npz", x=rng.random((60, 5)), y=np.arange(60) % 10)
    wide = train("digits-mlp", {"data": "npz", "data.path": str(tmp_path / "wide.npz")}, out=tmp_path / "wide")
    with pytest.raises(GradlabError, match=r"wide cannot read what .*drawing draws: Each input must have shape"):
        SampleQuality(run_of(runs, "drawing"), wide)


def test_a_run_without_features_cannot_be_judged(runs, tmp_path):
    shutil.copytree(runs / "drawing", tmp_path / "unfinished")
    shutil.rmtree(tmp_path / "unfinished" / "features")
    with pytest.raises(GradlabError, match="unfinished has no features to judge samples by"):
        SampleQuality(load_run(tmp_path / "unfinished"))
