"""Truncated backpropagation through time: each step of a text goes on from the state that the step before left."""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from gradlab.errors import GradlabError
from gradlab.nn.recurrent.cache import StateCache
from gradlab.tasks.evaluation import inference


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
        found, self.structure = tree_flatten(cache.state)
        self.state = [torch.zeros(part.shape, dtype=part.dtype, device=device) for part in found]
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

    def snapshot(self) -> dict[str, Any]:
        return {"carried": self.state}

    def restore(self, snapshot: dict[str, Any]) -> None:
        for state, saved in zip(self.state, snapshot["carried"], strict=True):
            state.copy_(saved)


def state_cache(model: Any) -> StateCache:
    """A state of the model that has read nothing; refused where it has none of a size that stays the same."""
    cache = model.new_cache(1, 1) if hasattr(model, "new_cache") else None
    if not isinstance(cache, StateCache):
        raise GradlabError(
            f"train.carry=true is for models that have a state to carry (model=rnn); {type(model).__name__} has none. "
            "Set train.carry=false."
        )
    return cache
