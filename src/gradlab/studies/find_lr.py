"""The learning-rate range test for any module on any data: on a copy, so that nothing is trained by it."""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from gradlab.data import generators
from gradlab.errors import GradlabError, is_out_of_memory, one_line
from gradlab.nn.modes import evaluating
from gradlab.registry import shortly
from gradlab.studies.range_test import HIGH, LOW, STEPS, RangeTest, measure_rates
from gradlab.tasks.evaluation import device_of
from gradlab.tasks.objective import named as named_losses
from gradlab.training.fit import FitSetup, prepare_fit
from gradlab.training.fit_data import first_batch
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan
from gradlab.training.vocabulary import in_a_call, speaking


@speaking(in_a_call)
def find_lr(
    model: nn.Module, data: Any, *, low: float = LOW, high: float = HIGH, rates: int = STEPS, **options: Any
) -> RangeTest:
    """The learning-rate range test on a copy of a module: the rate to train with, and the loss at each rate.

    Its other arguments are those of `fit`, but for `out` and `observers`; `rates` is how many are tried, one in each
    step. The module and all random generators are left as they are.

    >>> X = torch.randn(200, 4)
    >>> found = find_lr(nn.Linear(4, 3), (X, X[:, :3].argmax(1)), low=1e-4, high=1.0, rates=20)
    >>> len(found.losses), found.rates[0]
    (20, 0.0001)
    """
    _check_range(low, high, rates)
    for key in ("out", "observers"):
        if key in options:
            raise GradlabError(f"{key}={shortly(options[key])}: a range test keeps nothing. Leave it out.")
    if isinstance(data, Iterator):
        raise GradlabError("The range test would use up an iterator, which can be read once. Give a list of batches.")
    named = inspect.signature(prepare_fit).parameters.keys() - {"model", "data", "plan"}
    arguments = {key: options.pop(key) for key in named if key in options}
    with _preserve_state(model, data), prepare_fit(model, data, plan=options, **arguments) as setup:
        trained = replace(setup, model=_copy_model(setup.model), validation=None)
        _check_own_gradient(trained)

        def train(plan: Plan, rate: Callable[[int], float], observers: Sequence[Observer]) -> None:
            with replace(trained, plan=plan).build(rate=rate, observers=observers, mode="eager") as training:
                training.run()

        return measure_rates(train, setup.plan, setup.train, low, high, rates)


def _check_range(low: Any, high: Any, rates: Any) -> None:
    sound = all(isinstance(x, (int, float)) for x in (low, high)) and 0 < low < high < float("inf")
    if not sound:
        raise GradlabError(f"Rates rise from low to high, both above 0, got low={shortly(low)}, high={shortly(high)}.")
    if not isinstance(rates, int) or rates < 2:
        raise GradlabError(f"rates={shortly(rates)}: try 2 or more of them.")


def _copy_model(model: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(model)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise GradlabError(f"A range test trains a copy, but the model cannot be copied: {one_line(error)}") from error


def _check_own_gradient(setup: FitSetup) -> None:
    """Refuse objectives that use another module than the one that they are called with: the original."""
    batch = first_batch(setup.train)
    if batch is None:
        return
    moved = [p for p in setup.model.parameters() if p.requires_grad]
    with torch.random.fork_rng(), evaluating(setup.model):
        for name, objective in setup.task.objectives().items():
            totals = [total for total, _ in named_losses(objective.loss(setup.model, batch), name).values()]
            slopes = torch.autograd.grad([t for t in totals if t.requires_grad], moved, allow_unused=True)
            if all(slope is None for slope in slopes):
                raise GradlabError(
                    f"The objective {name!r} does not use the model that it is called with, (model, batch), and so "
                    "cannot be computed for a copy of it."
                )


@contextmanager
def _preserve_state(model: Any, data: Any) -> Iterator[None]:
    """Afterwards the device of a model, the generators of the process and those of a DataLoader are as they were."""
    device = device_of(model) if isinstance(model, nn.Module) else None
    owners: tuple[Any, ...] = (
        data,
        getattr(data, "sampler", None),
        getattr(getattr(data, "batch_sampler", None), "sampler", None),
    )
    own = [one.generator for one in owners if isinstance(getattr(one, "generator", None), torch.Generator)]
    states = [generator.get_state() for generator in own]
    try:
        with generators.kept():
            yield
    finally:
        for generator, state in zip(own, states, strict=True):
            generator.set_state(state)
        if device is not None and device.type != "meta":
            model.to(device)
