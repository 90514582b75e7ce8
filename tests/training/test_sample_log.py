"""What a generative model draws while it is trained: when, by which weights, and without touching the training."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from gradlab import specs
from gradlab.data import Examples, Preparation, Targets
from gradlab.data.preprocessing import Preprocessing
from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.nn.modes import evaluating
from gradlab.registry import Part
from gradlab.run.sample_files import read_samples, samples_file
from gradlab.tasks.evaluation import seeded
from gradlab.tasks.generative import Adversarial, Density, Diffusion, PixelLikelihood, Request, VariationalAutoencoder
from gradlab.training import sample_log
from gradlab.training.observers import Observer
from gradlab.training.sample_log import SampleLog, moments

CPU = torch.device("cpu")
TARGETS = Targets(classes=["a", "b", "c"], counts=[1, 1, 1])
PIXELS, PLANE = specs.Picture(1, 4, 4), specs.Table(2)

KINDS = {
    "vae": (VariationalAutoencoder(TARGETS), Part("vae", {"latent": 2, "hidden": [8]}), PIXELS),
    "gan": (Adversarial(TARGETS), Part("gan", {"hidden": [8], "discriminator": [8], "spectral_norm": True}), PLANE),
    "diffusion": (
        Diffusion(TARGETS, conditional=True, sampler="ddpm", sampling_steps=3),
        Part("score-mlp", {"dim": 8, "layers": 1}),
        PIXELS,
    ),
    "pixelcnn": (PixelLikelihood(TARGETS, levels=3), Part("pixelcnn", {"layers": 1, "channels": 4}), PIXELS),
}


def examples(spec, count=64):
    generator = torch.Generator().manual_seed(3)
    inputs = torch.rand(count, *spec.shape, generator=generator)
    return Examples.of(inputs, torch.arange(count) % 3, np.arange(count))


@pytest.fixture
def generative(make_training):
    """A training of one of the kinds, by an average of its weights."""

    def make(kind, *observers, steps=40, **plan):
        task, part, spec = KINDS[kind]
        torch.manual_seed(0)
        model = build_model(part, spec, task.outputs)
        values = {"steps": steps, "batch_size": 32, "ema": 0.9, "evaluate_every": 7, "lr": 0.02, **plan}
        data = {"train": examples(spec), "validation": examples(spec, 20)}
        return make_training(model=model, task=task, observers=observers, **data, **values)

    return make


@pytest.fixture
def often(monkeypatch):
    """Samples at every moment that there could be, in trainings of any length."""
    monkeypatch.setattr(sample_log, "_SHARE", 1000)


def log(folder, kind):
    return SampleLog(folder, KINDS[kind][0], Preparation())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# When.


@pytest.mark.parametrize("most", range(3, 10))
def test_moments_double_from_the_first_to_the_last_step(most):
    for steps in [*range(1, 300), 4000, 99_999]:
        drawn = moments(steps, most)
        assert drawn[0] == 0
        assert drawn[-1] == steps
        assert len(drawn) <= most
        assert sorted(set(drawn)) == drawn
        between = drawn[1:-1]
        assert all(later == 2 * earlier for earlier, later in pairwise(between))
        if steps >= 2**most:
            assert len(drawn) == most
            assert drawn[-1] <= 2 * drawn[-2]


@pytest.mark.parametrize(
    ("kind", "mode", "steps", "expected"),
    [
        ("vae", "eager", 400, [0, 7, 14, 28, 56, 112, 224, 400]),
        ("vae", "eager", 5, []),
        ("gan", "eager", 400, [0, 7, 14, 28, 56, 112, 224, 400]),
        ("diffusion", "eager", 40, [0, 10, 20, 40]),
        ("diffusion", "graph", 80, [0, 40, 80]),
        ("pixelcnn", "eager", 40, []),
    ],
)
def test_what_is_expensive_is_drawn_seldom(generative, tmp_path, kind, mode, steps, expected):
    observer, training = log(tmp_path, kind), generative(kind, steps=steps)
    observer._draw, training.mode = lambda training: None, mode
    observer.start(training)
    assert observer.moments == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [10, 100, 3000])
@pytest.mark.parametrize("batch_size", [1, 32, 500])
def test_drawing_takes_a_small_part_of_the_work_of_a_training(generative, tmp_path, kind, steps, batch_size):
    """Passes forward for one example, of which a step has three for each: forward, and twice as much backward."""
    observer, (task, _, spec) = log(tmp_path, kind), KINDS[kind]
    observer._draw = lambda training: None
    training = generative(kind, steps=steps, batch_size=batch_size)
    observer.start(training)
    drawn = len(observer.moments) * observer.count * task.calls(spec.shape).passes
    assert drawn <= 0.05 * 3 * steps * training.stream.batch_size


@pytest.mark.parametrize("sampler", ["ddpm", "ddim", "dpm", "euler", "heun"])
@pytest.mark.parametrize("guidance", [1.0, 2.0])
def test_the_calls_of_a_sampler_are_counted(sampler, guidance):
    task = Diffusion(TARGETS, conditional=True, sampler=sampler, sampling_steps=6, guidance=guidance)
    model, rows = build_model(Part("score-mlp", {"dim": 4, "layers": 1}), PLANE, task.outputs), []
    model.register_forward_hook(lambda module, inputs, output: rows.append(len(output)))
    task.draw_part(model, 5, Request())
    ended = 1 if sampler == "heun" else 0  # whose last step is Euler's
    assert task.calls((2,)) == (len(rows) + ended, sum(rows) / 5 + ended * guidance)


def test_the_pixels_of_a_picture_are_counted():
    task, part, spec = KINDS["pixelcnn"]
    model, calls = build_model(part, spec, task.outputs), []
    model.head.register_forward_hook(lambda *_: calls.append(1))
    task.draw_part(model, 2, Request())
    assert task.calls(spec.shape) == (len(calls), 1)


# What.


class Weights(Observer):
    """The averaged weights after some steps, as the model would have them."""

    every = 1

    def __init__(self, steps):
        self.steps, self.kept = steps, {}

    def start(self, training):
        self.step(training)

    def step(self, training):
        if training.progress.step in self.steps:
            buffers = {name: b.clone() for name, b in training.model.named_buffers()}
            average = zip(training.average.names, training.average.means, strict=True)
            self.kept[training.progress.step] = buffers | {name: mean.clone() for name, mean in average}


@pytest.mark.parametrize("kind", ["vae", "gan", "diffusion"])
def test_the_same_samples_are_drawn_by_the_weights_that_are_judged(generative, run, tmp_path, kind, often):
    run(generative(kind, observer := log(tmp_path, kind), seen := Weights([0, 1, 4, 16, 40])))
    task, part, spec = KINDS[kind]
    read = read_samples(tmp_path, spec.shape, 3)
    model = build_model(part, spec, task.outputs)
    labels = torch.arange(observer.count) % 3 if kind == "diffusion" else None
    for step in seen.kept:
        model.load_state_dict(seen.kept[step])
        with seeded(CPU, 2**31 + 11), torch.no_grad(), evaluating(model):
            wanted = task.draw_part(model, observer.count, Request(labels=labels))[0]
        np.testing.assert_array_equal(read[step].x, wanted.double().numpy())
        assert (read[step].y is None) == (labels is None)
    assert labels is None or read[0].y.tolist() == labels.tolist()
    assert not np.allclose(read[0].x, read[40].x)


def test_samples_are_kept_in_raw_units(generative, run, tmp_path, often):
    task, _, spec = KINDS["vae"]
    scale = Preprocessing(method="scale", shift=[2.0], scale=[16.0], shape=spec.shape)
    run(generative("vae", SampleLog(tmp_path / "raw", task, scale), log(tmp_path / "prepared", "vae")))
    raw, prepared = (read_samples(tmp_path / name, spec.shape)[40].x for name in ("raw", "prepared"))
    np.testing.assert_allclose(raw, 16 * prepared + 2)


# Without a trace.


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_is_the_same_to_the_bit_with_and_without(generative, run, tmp_path, kind, often):
    alone, watched = run(generative(kind)), run(generative(kind, log(tmp_path, kind)))
    assert len(contents(tmp_path)) == 9, "and their sums"
    assert watched.record.lines == alone.record.lines
    for name, value in alone.model.state_dict().items():
        assert torch.equal(watched.model.state_dict()[name], value), name
    assert watched.checkpoint().state["rng"] == alone.checkpoint().state["rng"]


@pytest.mark.parametrize(("kind", "step"), [("gan", 17), ("diffusion", 3), ("diffusion", 16), ("diffusion", 40)])
def test_a_resumed_training_leaves_the_same_files(generative, run, save_at, tmp_path, kind, step, often):
    run(generative(kind, log(tmp_path / "whole", kind), saved := save_at(step)))
    whole = contents(tmp_path / "whole")
    run(generative(kind, log(tmp_path / "run", kind)))
    for path in (tmp_path / "run").glob("step-*"):  # what is later than the checkpoint is drawn anew
        if int(path.stem.removeprefix("step-")) > step:
            path.write_bytes(b"of a training that was killed later on")
    run(generative(kind, log(tmp_path / "run", kind)), saved.checkpoint)
    assert contents(tmp_path / "run") == whole
    (tmp_path / "run" / "step-00000000.safetensors").write_bytes(b"of one without a checkpoint")
    run(generative(kind, log(tmp_path / "run", kind)))
    assert contents(tmp_path / "run") == whole


def test_the_last_samples_are_those_of_the_end_whatever_ended_it(generative, run, tmp_path, often):
    class Stop(Observer):
        every = 9

        def step(self, training):
            training.request("stop")

    run(generative("gan", Stop(), log(tmp_path / "stopped", "gan")))
    assert list(read_samples(tmp_path / "stopped", (2,))) == [0, 1, 2, 4, 8], "a stop leaves no trace"
    patient = run(generative("gan", log(tmp_path / "patience", "gan"), lr=1e-9, patience=2, evaluate_every=3, ema=None))
    assert patient.progress.ended == "patience"
    assert list(read_samples(tmp_path / "patience", (2,)))[-1] == patient.progress.step < 40


def test_a_model_that_draws_nothing_is_trained_all_the_same(make_training, run, tmp_path, often):
    class Normal(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Parameter(torch.ones(2))

        def log_prob(self, x):
            return -(x - self.mean).square().sum(1) / 2 - math.log(2 * math.pi)

    task = Density(TARGETS)
    observer = SampleLog(tmp_path, task, Preparation())
    data = {"train": examples(PLANE), "validation": None, "steps": 20}
    training = run(make_training(model=Normal(), task=task, observers=[observer], **data))
    assert training.progress.ended == "finished"
    assert observer.moments
    assert not contents(tmp_path)


# The files.


def test_a_damaged_file_is_told_and_left_out(generative, run, tmp_path, capsys, often):
    run(generative("diffusion", log(tmp_path, "diffusion")))
    samples_file(tmp_path, 8).write_bytes(b"half")
    (tmp_path / "step-3.txt").touch()
    assert list(read_samples(tmp_path, PIXELS.shape, 3)) == [0, 1, 2, 4, 16, 32, 40]
    assert "step-00000008.safetensors is damaged" in capsys.readouterr().err
    assert not read_samples(tmp_path, (2,), 3)
    assert not read_samples(tmp_path, PIXELS.shape, 2)
    assert not read_samples(tmp_path / "nothing", PIXELS.shape)


def test_a_full_disk_ends_the_training_with_what_to_do(generative, run, tmp_path, often):
    (tmp_path / "samples").write_text("in the way")
    with pytest.raises(GradlabError, match=r"samples cannot be written.*gradlab resume"):
        run(generative("gan", log(tmp_path / "samples", "gan")))
