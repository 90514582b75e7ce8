"""A training on a device: what it does in each step, and that the host waits for it at log points alone."""

import numpy as np
import pytest
import torch
from counting import META, Device

from gradlab.data import Epochs, Examples, streams
from gradlab.data.pictures.augmentation import Augmentation, Augmented
from gradlab.data.pictures.binarised import binarised
from gradlab.data.preprocessing import Preprocessing
from gradlab.data.text.masking import Masked
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.data.views import Transformed
from gradlab.recipes import find
from gradlab.training import driver, experiment

RECIPES = {
    "digits-mlp": {"train.batch_size": 300},
    "digits-dropout": {"train.batch_size": 300, "train.clip": 1.0, "train.ema": 0.9, "train.accumulate": 2},
    "pydoc-gpt": {"model.dim": 16, "model.layers": 2, "model.heads": 2, "data.context": 32},
    "pydoc-lstm": {"model.dim": 8, "data.context": 4},
    "pydoc-bert": {"model.dim": 16, "model.heads": 2, "data.context": 32},
    "docstrings-bert": {"model.dim": 16, "model.heads": 2, "model.layers": 1},
    "docstrings-rnn": {"model.dim": 8, "data.context": 4},
}


LOG = 4


def counted(name, steps=8, **changes):
    """A training of a house recipe in small, counted step by step: one begins where its batch is asked for."""
    small = {"train.steps": steps, "train.log_every": LOG, "train.evaluate_every": LOG, "train.batch_size": 16}
    built = experiment.Experiment.of(find(name).override(small | RECIPES[name] | changes), torch.device("cpu"))
    model, train = built.model.to(META), built.splits["train"].to(META)
    with driver.training(model, built.task, train, None, built.plan, threads=1, mode="eager") as training:
        batches = training.stream.batches

        def parted(step):
            read = batches(step)
            while True:
                device.part()
                yield next(read)

        training.stream.batches = parted
        with Device() as device:
            training.run()
        device.part()
    return training, device.parts[1:]


def check_waits(parts):
    for step, part in enumerate(parts, start=1):
        assert bool(part.waits) == (step % LOG == 0), (step, part.waits)


@pytest.mark.parametrize("name", RECIPES)
def test_the_host_waits_at_log_points_alone_and_steps_take_as_many_operations(name):
    training, parts = counted(name)
    assert len(parts) == training.total_steps
    check_waits(parts)
    # Without those that are logged, and those that begin or end an epoch.
    epoch = training.steps_per_epoch
    plain = [part for i, part in enumerate(parts) if (i + 1) % LOG and 0 < i % epoch < epoch - 1]
    assert len(plain) > 2
    assert len({sum(part.calls.values()) for part in plain}) == 1


def test_a_log_point_waits_as_often_whatever_the_size_of_the_model():
    ends = [counted("pydoc-gpt", steps=LOG, **{"model.layers": layers})[1][-1] for layers in (1, 3)]
    assert 0 < len(ends[0].waits) == len(ends[1].waits)


def mapped():
    """As of a text that is larger than memory: an array of a file."""
    return WindowExamples.over(Windows(np.arange(8 * 30 + 1), length=8))


def masked():
    windows = Windows(np.arange(8 * 30 + 1), length=8)
    return WindowExamples.over(Masked(windows=windows, chosen=2, mask=1, first=2, vocabulary=300))


def transformed():
    examples = Examples.of(torch.randn(30, 4), torch.zeros(30, dtype=torch.int64))
    return Transformed.over(examples, lambda batch, keys: {**batch, "inputs": batch["inputs"] + keys[:, None]})


def augmented():
    pictures = np.zeros((30, 1, 8, 8), np.float32)
    examples = Examples.of(torch.from_numpy(pictures), torch.zeros(30, dtype=torch.int64))
    settings = Augmentation(flip="alternating", rotate=9.0, contrast=0.1, cutout=2, mixup=1.0)
    return Augmented.over(examples, settings, Preprocessing.fit(pictures, "standardise", [], []), 4)


def black_and_white():
    return binarised(Examples.of(torch.rand(30, 1, 8, 8), torch.zeros(30, dtype=torch.int64)), each_epoch=True)


@pytest.mark.parametrize("at_once", [True, False], ids=["an epoch at once", "batch by batch"])
@pytest.mark.parametrize("kind", [mapped, masked, transformed, augmented, black_and_white])
def test_batches_that_are_read_on_the_host_are_sent_without_a_wait(kind, at_once, monkeypatch):
    monkeypatch.setattr(streams, "_GATHERED", {"meta": 2**20} if at_once else {})
    stream = Epochs(kind().to(META), 8, [8, 8, 8, 6], seed=0)
    with Device() as device:
        batches = list(stream.epoch(0))
    assert [len(batch["inputs"]) for batch in batches] == [8, 8, 8, 6]
    assert not device.counts.waits
