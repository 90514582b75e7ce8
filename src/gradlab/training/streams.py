"""The stream of a training: pass after pass over examples, strips of a text, or one that the data bring themselves."""

from collections.abc import Callable
from typing import Any

from torch import nn

from gradlab.data import Epochs, Examples, Stream
from gradlab.training.carry import Strips
from gradlab.training.plan import Plan
from gradlab.training.together import part_of


def read(split: Any, plan: Plan) -> Any:
    """A split as the plan reads it: with `carry` in order, each example from the state of the one before."""
    if not isinstance(split, Examples):
        return split
    return split.carried() if plan.carry else split.apart()


def make_stream(train: Examples | Stream, plan: Plan, model: nn.Module) -> tuple[Stream, Callable[..., Any]]:
    """Where batches come from, and what is called on them: the model, or the model with the state that it carries."""
    if isinstance(train, Stream):
        train.start(model)
        return train, model
    if train.carries:
        strips = Strips(train, plan, model)
        return strips, strips.carried
    count = len(train)
    sizes = plan.batch_sizes(count)
    return Epochs(train, plan.examples_per_step(count), sizes, plan.seed, part_of(model)), model
