"""A batch in parts is the batch."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from gradlab.data import Targets
from gradlab.errors import GradlabError
from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.specs import Table
from gradlab.tasks import Classify, Regress
from gradlab.training.guard import HostGuard
from gradlab.training.optimizers import Parameters
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.step import GradientStep


class Remembers:
    """An optimiser that only keeps the gradients it was given."""

    def __init__(self, model):
        self.parameters = Parameters(model)

    def update(self, gradients, lr, skip=None):
        self.gradients = gradients


class Labelled(Classify):
    """Classes below 0 stand for no label: the examples that count are fewer than those of the batch."""

    def __init__(self):
        super().__init__(Targets(classes=["a", "b", "c"]))

    def training_loss(self, output, target, weight=None):
        return nn.functional.cross_entropy(output, target, ignore_index=-1, reduction="sum"), int((target >= 0).sum())

    loss = training_loss


class Routed(nn.Module):
    """Its second map is reached by examples that start with a positive number alone."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.always, self.sometimes, self.never = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.always(x) + self.sometimes(x) if (x[:, 0] > 0).any() else self.always(x)


CLASSES, NUMBERS = Targets(classes=["a", "b", "c"]), Targets(mean=[0.0] * 3, std=[1.0] * 3)


def gradients(parts, batch, task, model=None):
    if model is None:
        torch.manual_seed(0)
        model = mlp(Table(4), 3, hidden=[6])
    optimizer = Remembers(model)
    plan = Plan(**plan_schema.resolve({"accumulate": parts}, "train"))
    loss = partial(task.objectives()["loss"].loss, model)
    named = dict(zip(("inputs", "targets", "weights"), batch, strict=False))
    total, count = GradientStep(loss, model, optimizer, plan, HostGuard())(named, 0.1)["loss"]
    return optimizer.gradients, total, count


def assert_same(one, other):
    assert_close(one[0], other[0], rtol=1e-5, atol=1e-6)
    assert_close(one[1], other[1])
    assert one[2] == other[2]


@given(st.integers(1, 25), st.integers(1, 12), st.booleans(), st.integers(0, 100))
def test_the_gradient_of_the_parts_is_that_of_the_batch(rows, parts, weighted, seed):
    torch.manual_seed(seed)
    x, weight = torch.randn(rows, 4), torch.rand(rows) + 0.5
    batches = {
        Classify(CLASSES): (x, torch.randint(3, (rows,))),
        Regress(NUMBERS): (x, torch.randn(rows, 3)),
    }
    for task, batch in batches.items():
        given_batch = (*batch, weight) if weighted else batch
        assert_same(gradients(parts, given_batch, task), gradients(1, given_batch, task))


@given(st.lists(st.integers(-1, 2), min_size=2, max_size=15), st.integers(2, 6))
def test_parts_with_unequal_numbers_of_labels_count_by_their_labels(labels, parts):
    batch = torch.randn(len(labels), 4), torch.tensor([*labels[1:], 0])  # one label at least
    assert_same(gradients(parts, batch, Labelled()), gradients(1, batch, Labelled()))


def test_a_parameter_that_only_one_part_reaches_has_its_gradient_and_one_that_none_reaches_has_none():
    x = torch.randn(8, 4)
    x[:, 0] = -1.0
    x[6, 0] = 1.0
    batch = x, torch.randint(3, (8,))
    model = Routed()
    got, *_ = gradients(4, batch, Classify(CLASSES), model)
    total = sum(
        nn.functional.cross_entropy(model(x[i : i + 2]), batch[1][i : i + 2], reduction="sum") for i in (0, 2, 4, 6)
    )
    want = torch.autograd.grad(total / 8, list(model.parameters()), allow_unused=True)
    assert [g is None for g in got] == [False] * 4 + [True] * 2 == [w is None for w in want]
    assert_close(got[:4], list(want[:4]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("batch_size", [8, "full"])
def test_a_run_in_parts_is_the_run(make_training, run, examples, optimizer, batch_size):
    plan = {"optimizer": optimizer, "lr": 0.01, "clip": 0.5, "batch_size": batch_size, "keep": "last"}
    whole, parted = (run(make_training(accumulate=k, **plan)) for k in (1, 3))
    assert_close(list(parted.model.parameters()), list(whole.model.parameters()), rtol=1e-4, atol=1e-5)
    assert parted.record.losses() == pytest.approx(whole.record.losses(), rel=1e-4)
    assert parted.total_steps == whole.total_steps


@pytest.mark.parametrize(("parts", "sizes"), [(3, [3, 3, 2] * 5 + [2, 2, 1]), (10, [1] * 45)])
def test_no_more_than_a_part_and_no_less_than_an_example_is_in_the_model_at_a_time(make_training, run, parts, sizes):
    seen = []

    class Sizes(nn.Module):
        def __init__(self):
            super().__init__()
            self.map = nn.Linear(4, 3)

        def forward(self, x):
            if self.training:
                seen.append(len(x))
            return self.map(x)

    run(make_training(model=Sizes(), accumulate=parts, epochs=1))
    assert seen == sizes  # of 45 examples in batches of 8


def test_the_activations_kept_for_the_backward_pass_are_those_of_one_part(examples):
    """Counted at the largest moment, by the hooks that autograd calls for each tensor it saves and frees."""

    def most(parts):
        live, peak = 0, 0

        class Saved:
            def __init__(self, tensor):
                nonlocal live, peak
                self.tensor, self.size = tensor, tensor.nbytes
                live += self.size
                peak = max(peak, live)

            def __del__(self):
                nonlocal live
                live -= self.size

        data = examples(60)
        with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
            torch.manual_seed(0)
            model = mlp(Table(4), 3, hidden=[64, 64])
            gradients(parts, (data.inputs, data.targets), Classify(CLASSES), model)
        return peak - sum(p.nbytes for p in model.parameters() if p.ndim >= 2)  # saved too, and not by the example

    assert most(6) < most(1) / 4


def test_parts_too_small_for_batch_normalisation_are_refused(make_training):
    model = mlp(Table(4), 3, hidden=[6], norm=Part("batch"))
    with pytest.raises(GradlabError, match=r"Batch normalisation.*raise train\.batch_size or lower train\.accumulate"):
        make_training(model=model, accumulate=4)  # the last batch of 45 has 5 examples
    assert make_training(model=model, accumulate=2).total_steps == 18
