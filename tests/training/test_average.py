import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.specs import Table
from gradlab.tasks.evaluation import evaluate
from gradlab.training.average import Average
from gradlab.training.observers import Observer
from gradlab.training.optimizers import Parameters


class Path(Observer):
    """The weights after every step."""

    every = 1

    def __init__(self):
        self.weights = []

    def start(self, training):
        self.step(training)

    def step(self, training):
        self.weights.append([p.detach().double().clone() for p in training.model.parameters()])


def by_hand(path, decay):
    """The docstring's equation, in double precision."""
    mean = path[0]
    for t, weights in enumerate(path[1:], 1):
        d = min(decay, (1 + t) / (10 + t))
        mean = [d * m + (1 - d) * w for m, w in zip(mean, weights, strict=True)]
    return mean


def noisy():
    torch.manual_seed(0)
    return mlp(Table(4), 3, hidden=[8], dropout=0.3, norm=Part("batch"))


@pytest.mark.parametrize("decay", [0.1, 0.5, 0.999])
def test_the_average_is_that_of_its_equation(make_training, run, decay):
    path = Path()
    training = run(make_training(ema=decay, lr=0.05, keep="last", observers=[path]))
    want = by_hand(path.weights, decay)
    assert_close([p.detach().double() for p in training.model.parameters()], want, rtol=1e-5, atol=1e-6)
    assert max((w - p).abs().max().item() for w, p in zip(want, path.weights[-1], strict=True)) > 1e-3


def test_the_average_changes_what_is_judged_and_kept_and_nothing_of_the_training(make_training, run):
    plain, averaged = (
        run(make_training(model=noisy(), lr=0.05, keep="last", log_every=1, **plan)) for plan in ({}, {"ema": 0.9})
    )
    assert averaged.record.losses() == plain.record.losses()
    one, other = (t.record.losses("validation") for t in (plain, averaged))
    assert one[0] == other[0]
    assert all(a != b for a, b in zip(one[1:], other[1:], strict=True))
    for (name, mine), theirs in zip(averaged.model.named_buffers(), plain.model.buffers(), strict=True):
        assert torch.equal(mine, theirs), name  # of batch normalisation, taken as they are


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_model_ends_with_the_average_that_was_judged(make_training, run, keep):
    training = run(make_training(model=noisy(), ema=0.8, lr=0.05, keep=keep, epochs=6))
    figures = training.task.evaluate(training.model, training.validation)
    losses = training.record.losses("validation")
    assert figures["loss"] == (min(losses) if keep == "best" else losses[-1])


def test_without_validation_the_model_ends_with_the_average(make_training, run):
    path = Path()
    training = run(make_training(ema=0.9, lr=0.05, validation=None, observers=[path]))
    assert_close(
        [p.detach().double() for p in training.model.parameters()], by_hand(path.weights, 0.9), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize("stop", [5, 6, 12, 18])
def test_a_checkpoint_offers_the_average_for_use_and_the_weights_for_going_on(make_training, run, save_at, keep, stop):
    saver, path = save_at(stop), Path()
    whole = run(make_training(model=noisy(), ema=0.8, lr=0.02, keep=keep, observers=[path, saver]))
    names = dict(whole.model.named_parameters())
    saved = saver.checkpoint
    assert_close([saved.model[n].double() for n in names], path.weights[stop], rtol=0, atol=0)
    if keep == "last":
        assert_close(
            [saved.chosen[n].double() for n in names], by_hand(path.weights[: stop + 1], 0.8), rtol=1e-5, atol=1e-6
        )
    judge = noisy()
    judge.load_state_dict(saved.chosen)
    losses = whole.record.losses("validation")[: 1 + stop // 6]
    figures = evaluate(judge, whole.task, whole.validation)
    if keep == "best" or stop % 6 == 0:
        assert figures["loss"] == (min(losses) if keep == "best" else losses[-1])


def test_a_set_flag_leaves_the_average_alone():
    model = nn.Linear(3, 2)
    average = Average(Parameters(model), 0.9)
    with torch.no_grad():
        model.weight += 1
        model.bias.fill_(torch.nan)
    before = [m.clone() for m in average.means]
    average.update(torch.ones(()), torch.ones(()))
    assert_close(average.means, before, rtol=0, atol=0)


def test_weights_that_are_shared_are_averaged_once_and_stay_shared(make_training, run):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.one, self.two, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.out(self.two(self.one(x).tanh()))

    training = run(make_training(model=Tied(), ema=0.9))
    assert training.model.two.weight is training.model.one.weight


def test_the_weights_come_back_when_an_evaluation_fails():
    model = nn.Linear(3, 2)
    average = Average(Parameters(model), 0.9)
    with torch.no_grad():
        model.weight += 1
    before = model.weight.detach().clone()

    def fails():
        with average.in_use():
            assert not torch.equal(model.weight, before)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert torch.equal(model.weight, before)
