"""How a task's own evaluation is called."""

from contextlib import suppress

import torch
from torch import nn

from gradlab.data import Examples
from gradlab.tasks import Objective, Task, compare, evaluate

SPLIT = Examples.by_name({"x": torch.arange(6.0)})


class Drawing(Task):
    """Judges a model by numbers that are drawn."""

    def evaluate(self, model, split):
        self.found = model.training, torch.is_grad_enabled()
        return {"drawn": torch.rand(len(split)).sum().item()}


def test_a_model_is_judged_in_evaluation_mode_and_without_gradients():
    task, model = Drawing(), nn.Sequential(nn.Dropout(0.5), nn.Linear(1, 1))
    evaluate(model, task, SPLIT)
    assert task.found == (False, False)
    assert all(part.training for part in model.modules())


def test_what_an_evaluation_draws_is_the_same_each_time_and_disturbs_nobody():
    model = nn.Linear(1, 1)
    before = torch.get_rng_state()
    first = evaluate(model, Drawing(), SPLIT)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert evaluate(model, Drawing(), SPLIT) == first
    assert first["drawn"] > 0


def test_the_generator_stands_where_it_was_after_an_evaluation_that_failed():
    class Failing(Task):
        def evaluate(self, model, split):
            torch.rand(1)
            raise RuntimeError

    model = nn.Linear(1, 1)
    before = torch.get_rng_state()
    with suppress(RuntimeError):
        evaluate(model, Failing(), SPLIT)
    assert torch.equal(torch.get_rng_state(), before)


def test_models_are_compared_on_a_split_that_is_no_examples():
    class Counting(Task):
        def evaluate(self, model, split):
            return {"outcome": sum(split) * model.weight.item()}

    one, two = nn.Linear(1, 1), nn.Linear(1, 1)
    nn.init.constant_(one.weight, 1.0)
    nn.init.constant_(two.weight, 2.0)
    assert compare({"one": one, "two": two}, Counting(), [3, 4]) == {"one": {"outcome": 7.0}, "two": {"outcome": 14.0}}


class Steep(Task):
    """(2wx)², by the derivative of wx² that autograd finds while the loss is computed."""

    def objectives(self):
        return {"steepness": Objective(loss=self.steepness)}

    def steepness(self, model, batch):
        with torch.enable_grad():
            x = batch["x"].detach().requires_grad_()
            (slope,) = torch.autograd.grad((model.weight * x.square()).sum(), x, create_graph=True)
        return slope.square().sum(), len(x)


def test_a_loss_may_ask_for_gradients_inside_of_an_evaluation():
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, 3.0)
    figures = evaluate(model, Steep(), SPLIT)
    assert figures["steepness"] == sum((6 * x) ** 2 for x in range(6)) / 6
