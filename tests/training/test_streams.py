"""Trainings on batches that the user's own stream gives: they resume to the bit, and what goes wrong is told."""

import pytest
import torch
from torch import nn

from gradlab.data import Stream
from gradlab.errors import TrainingError
from gradlab.run import checkpoint as disk
from gradlab.tasks import Objective, Task
from gradlab.training.capture import GraphStep


class Pairs(Task):
    """Batches of one's own: nested, with a scale for all examples."""

    def objectives(self):
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model, batch):
        (left, right), target = batch["inputs"], batch["targets"]["sum"]
        error = model(torch.cat([left, right], 1)).squeeze(1) - target
        return error.square().sum() * batch["scale"], len(error)


class Walk(Stream):
    """A random walk: each batch goes on from where the one before it ended, and draws from torch's generator."""

    device = torch.device("cpu")
    steps_per_epoch = 6

    def __init__(self, last=None):
        self.place, self.last = torch.zeros(2), last
        self.generator = torch.Generator().manual_seed(5)

    def start(self, model):
        self.model = model

    def batches(self, step):
        while step != self.last:
            jumps = torch.randn(6, 2) + torch.randn(6, 2, generator=self.generator)
            path = self.place + jumps.cumsum(0) / 10
            self.place = path[-1].clone()
            yield self.batch(path, step)
            step += 1

    def batch(self, path, step):
        total = path.sum(1) + 0.1 * step
        return {"inputs": (path[:, :1], path[:, 1:]), "targets": {"sum": total}, "scale": torch.tensor(0.5)}

    def snapshot(self):
        return {"place": self.place, "generator": self.generator.get_state()}

    def restore(self, snapshot):
        self.place = snapshot["place"]
        self.generator.set_state(snapshot["generator"])


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 1))


def walking(make_training, stream=None, **plan):
    stream = Walk() if stream is None else stream
    return make_training(model=model(), task=Pairs(), train=stream, validation=None, steps=20, log_every=3, **plan)


def bits(training):
    return [p.detach() for p in training.model.parameters()]


@pytest.mark.parametrize("plan", [{}, {"accumulate": 4, "ema": 0.9}])
@pytest.mark.parametrize("stop", [1, 6, 7, 19])
def test_a_stream_with_a_state_resumes_to_the_bit(make_training, run, save_at, tmp_path, stop, plan):
    saver = save_at(stop)
    whole = run(walking(make_training, observers=[saver], **plan))
    stored = disk.read(disk.write(tmp_path, saver.checkpoint))
    resumed = run(walking(make_training, **plan), stored)
    assert resumed.record.lines == [line for line in whole.record.lines if line["step"] > stop]
    assert all(torch.equal(a, b) for a, b in zip(bits(resumed), bits(whole), strict=True))


def test_a_stream_that_forgets_where_it_stood_would_not_resume(make_training, run, save_at):
    """So the law above is able to see it."""
    saver = save_at(7)
    whole = run(walking(make_training, observers=[saver]))
    forgetful = Walk()
    forgetful.restore = lambda snapshot: None
    resumed = run(walking(make_training, forgetful), saver.checkpoint)
    assert resumed.record.losses()[-1] != whole.record.losses()[-1]


def test_a_stream_is_given_the_model_before_its_first_batch(make_training):
    stream = Walk()
    training = walking(make_training, stream)
    assert stream.model is training.model


def test_parts_of_nested_batches_are_the_whole(make_training, run):
    plain, parted = (walking(make_training, optimizer="sgd", lr=0.01, accumulate=k) for k in (1, 3))
    for training in (plain, parted):
        training.model[1].p = 0.0  # it would draw for each part
        run(training)
    assert parted.record.losses() == pytest.approx(plain.record.losses(), rel=1e-5)


def test_a_stream_that_ends_too_early_says_how_far_it_came(make_training, run):
    training = walking(make_training, Walk(last=7))
    with pytest.raises(TrainingError, match=r"ended after 7 batches, but 20 steps were asked for"):
        run(training)
    assert training.progress.ended == ""


def test_a_stream_that_is_as_long_as_the_training_is_long_enough(make_training, run):
    assert run(walking(make_training, Walk(last=20))).progress.ended == "finished"


class Once(Walk):
    """Batches that are there once, as from a socket; the tenth leaves the numbers, and is the last or not."""

    def __init__(self, count):
        super().__init__()
        self.rest = iter(range(count))

    def batches(self, step):
        for number in self.rest:
            batch = self.batch(torch.randn(6, 2), number)
            if number == 9:
                batch["inputs"][1].fill_(torch.inf)
            yield batch


@pytest.mark.parametrize("count", [10, 20])
def test_the_batch_that_broke_a_training_is_looked_at_though_it_cannot_be_read_again(make_training, run, count):
    with pytest.raises(TrainingError, match=r"in step 10 \(epoch 2\): 'inputs' of the batch has inf in row 0"):
        run(walking(make_training, Once(count)))


class Ragged(Walk):
    """Batches of two widths: the second column is left out now and then."""

    def batch(self, path, step):
        left, right = path[:, :1], path[:, 1:]
        inputs = (left, right) if step % 2 else (left, right.repeat(1, 2)[:, :1].contiguous())
        extra = {"note": torch.zeros(len(path), 1 + step % 3)}
        return {"inputs": inputs, "targets": {"sum": path.sum(1)}, "scale": torch.tensor(1.0), **extra}


def test_a_step_is_captured_for_every_shape_of_any_part_of_a_batch(monkeypatch):
    """The bookkeeping of captured steps, without a device: what is recorded is told apart by all tensors."""
    made = []

    class Bare(GraphStep):
        def __init__(self):
            self.lrs, self.rates, self.seen, self.captured, self.guards = torch.zeros(1), [], {}, {}, []
            self.replays, self.watch, self.compares, self.unchecked = True, None, False, 0

        def _eager(self, batches):
            return [{}]

        def _capture(self, batches):
            made.append(batches[0]["note"].shape[1])
            return self

        def replay(self, guards, batches):
            return [{}]

    step, batches = Bare(), Ragged().batches(0)
    for _ in range(30):
        step(next(batches), 0.1)
    assert sorted(made) == [1, 2, 3]
    assert set(step.seen.values()) == {4}
