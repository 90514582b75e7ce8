"""Truncated backpropagation through time: each step of a text goes on from the state that the step before left."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from gradlab import parallel
from gradlab.data import Batch, Epochs, Examples
from gradlab.errors import GradlabError
from gradlab.nn.recurrent.cache import StateCache
from gradlab.tasks.evaluation import inference
from gradlab.training.plan import Plan


class Carried:
    r"""A model that reads on from step to step, along as many strips of a text as a batch has rows.

    $$ z^{(s)}, h^{(s)} = f_\theta(x^{(s)}, h^{(s-1)}), \qquad h^{(0)} = 0, \qquad
       \partial h^{(s-1)} / \partial \theta := 0 $$

    The state is a given number for the step that starts from it, so that the gradient ends at the window's first token.
    It was made with the weights of its time, and is not made anew when they change. It is always in the same memory,
    into which `advance` writes after the backward pass: so a captured step carries it too, and a step whose gradient
    is not finite leaves it as it was.
    """

    def __init__(self, model: nn.Module, batch: int, device: torch.device):
        self.model: Any = model
        cache = state_cache(model)
        with inference(model):
            self.model(torch.zeros(batch, 1, dtype=torch.int64, device=device), cache=cache)
        leaves, self.structure = tree_flatten(cache.state)
        self.state = [torch.zeros(part.shape, dtype=part.dtype, device=device) for part in leaves]
        self.ahead: list[Tensor] = []

    def __call__(self, tokens: Int64[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        cache = state_cache(self.model)
        cache.update(tree_unflatten(self.state, self.structure), steps=0)
        logits: Tensor = self.model(tokens, cache=cache)
        self.ahead = [part.detach() for part in tree_flatten(cache.state)[0]]
        return logits

    def advance(self, skip: Tensor | None = None) -> None:
        """The next call starts where the last one ended; nothing changes where `skip` is 1."""
        for state, ahead in zip(self.state, self.ahead, strict=True):
            state.copy_(ahead if skip is None else torch.where(skip == 0, ahead, state))

    def reset(self) -> None:
        """Nothing has been read."""
        torch._foreach_zero_(self.state)


class Strips(Epochs):
    """A text in order: step s reads window s of each of as many strips as a batch has rows, and owns their state."""

    def __init__(self, examples: Examples, plan: Plan, model: nn.Module):
        check_carry(plan, model, examples)
        count = len(examples)
        super().__init__(examples, plan.examples_per_step(count), plan.batch_sizes(count), plan.seed)
        self.carried = Carried(model, self.batch_size, self.device)

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            if step % self.steps_per_epoch == 0:
                self.carried.reset()
            for batch in super().batches(step):
                yield batch
                step += 1
                if step % self.steps_per_epoch == 0:
                    break

    def order(self, epoch: int) -> Int64[Tensor, " rows"]:
        order: Tensor = self.examples.inputs.sequential(self.batch_size).flatten()
        return order

    def snapshot(self) -> dict[str, Any]:
        return {"carried": self.carried.state}

    def restore(self, snapshot: dict[str, Any]) -> None:
        for state, saved in zip(self.carried.state, snapshot["carried"], strict=True):
            state.copy_(saved)


def check_carry(plan: Plan, model: nn.Module, train: Any) -> None:
    """Is there a state, and a text to carry it along?"""
    if not isinstance(train, Examples):
        raise GradlabError(f"train.carry=true is for a text that is read in order, not for a {type(train).__name__}.")
    train.carried()
    state_cache(model)
    if plan.accumulate > 1:
        raise GradlabError(
            f"train.accumulate={plan.accumulate} does not go with train.carry: the parts of a batch would each need "
            "their rows of the state. Lower train.batch_size instead, or leave one of them out."
        )
    if parallel.count() > 1:
        raise GradlabError(
            "train.carry=true does not go with several processes: each would need its rows of the state. Set "
            "train.carry=false, or train in one process."
        )
    if plan.examples_per_step(len(train)) >= len(train):
        raise GradlabError(
            f"train.carry=true cuts the text into train.batch_size={plan.batch_size} strips, and {len(train):,} "
            "windows do not make so many. Lower it, or set train.carry=false."
        )


def state_cache(model: Any) -> StateCache:
    """A state of the model that has read nothing; refused where it has none of a size that stays the same."""
    cache = model.new_cache(1, 1) if hasattr(model, "new_cache") else None
    if not isinstance(cache, StateCache):
        raise GradlabError(
            f"train.carry=true is for models that have a state to carry (model=rnn); {type(model).__name__} has none. "
            "Set train.carry=false."
        )
    return cache
