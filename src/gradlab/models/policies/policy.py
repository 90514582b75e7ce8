"""What all that act have in common: how they see observations, and how actions come of outputs."""

import math
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.mlp import mlp
from gradlab.nn.activations import activations
from gradlab.registry import Count, Part
from gradlab.specs import Array, Box, Discrete, Environment, Table

Hidden = Annotated[list[Count], "units of each hidden layer of each network"]
Activation = Annotated[Part, activations, "after each hidden layer"]
Normalise = Annotated[bool, "observations in units of their running mean and standard deviation"]

_EPSILON = 1e-8


class Policy(nn.Module):
    """A model that acts in environments of one kind."""

    def __init__(self, inputs: Environment, normalise: bool):
        super().__init__()
        self.inputs, self.normalise = inputs, normalise
        self.observation = Observations(inputs.observation, normalise)
        self.actions = inputs.actions

    def act(self, observations: Tensor, greedy: bool = True) -> Tensor:
        """An action for each observation: the best that it knows, or one that it draws."""
        raise NotImplementedError

    def value(self, observations: Tensor) -> Tensor | None:
        """What is expected to come of each observation, where the model knows that."""
        return None

    def network(
        self, hidden: list[int], activation: Part, outputs: int, beside: int = 0, gain: float = 0.0
    ) -> nn.Module:
        """A perceptron of an observation, and of so many numbers beside it.

        With a `gain` of its last layer, weights are orthogonal, which actors and critics are usually begun with.
        """
        network = mlp(Table(self.observation.width + beside), outputs, hidden=hidden, activation=activation)
        if gain:
            maps = [module for module in network.modules() if isinstance(module, nn.Linear)]
            for one in maps:
                nn.init.orthogonal_(one.weight, gain if one is maps[-1] else math.sqrt(2))
                nn.init.zeros_(one.bias)
        return network


class Observations(nn.Module):
    r"""Observations as a network reads them: a row of numbers, one-hot where they are numbers of states.

    $$ x' = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} $$

    μ and σ² are of all that was observed so far (`update`), and lie in buffers: so they are in every checkpoint, and
    belong to the weights that are kept.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, spec: object, normalise: bool):
        super().__init__()
        self.states = spec.count if isinstance(spec, Discrete) else 0
        if not self.states and not isinstance(spec, Array):
            raise GradlabError(f"What is observed are {spec}, which this model cannot read.")
        self.width = self.states or math.prod(spec.shape)  # type: ignore[attr-defined]
        self.normalise = normalise and not self.states
        if self.normalise:
            self.register_buffer("mean", torch.zeros(self.width))
            self.register_buffer("variance", torch.ones(self.width))
            self.register_buffer("count", torch.zeros(()))

    def forward(self, observations: Tensor) -> Tensor:
        if self.states:
            return F.one_hot(observations, self.states).float()
        rows = observations if observations.ndim == 2 else observations.flatten(1)
        return (rows - self.mean) / (self.variance + _EPSILON).sqrt() if self.normalise else rows

    @torch.no_grad()
    def update(self, observations: Tensor) -> None:
        """Count further observations into the mean and the variance (Chan et al. 1979)."""
        if not self.normalise:
            return
        rows = observations.reshape(-1, self.width)
        count = self.count + len(rows)
        share, apart = len(rows) / count, rows.mean(0) - self.mean
        between = apart.square() * share * (1 - share)
        self.variance.lerp_(rows.var(0, correction=0), share).add_(between)
        self.mean.add_(apart * share)
        self.count.copy_(count)


class Choice(nn.Module):
    """One of a few actions, drawn by the softmax of outputs; each function is of (outputs, actions)."""

    def __init__(self, actions: Discrete):
        super().__init__()
        self.outputs = actions.count

    def noise(self, *shape: int) -> Tensor:
        """What is drawn for so many actions: of Gumbel's law, since the largest sum is then drawn by the softmax."""
        return torch.empty(*shape, self.outputs).exponential_().log_().neg_()

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        return (outputs + noise).argmax(-1)

    def mode(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(-1)

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        return outputs.log_softmax(-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def entropy(self, outputs: Tensor) -> Tensor:
        """−Σ π log π."""
        logs = outputs.log_softmax(-1)
        return -(logs.exp() * logs).sum(-1)


class Gauss(nn.Module):
    """Numbers around a mean, with a standard deviation that is learned and the same everywhere."""

    def __init__(self, actions: Box):
        super().__init__()
        self.outputs = len(actions.low)
        self.log_std = nn.Parameter(torch.zeros(self.outputs))

    def noise(self, *shape: int) -> Tensor:
        return torch.randn(*shape, self.outputs)

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        return outputs + self.log_std.exp() * noise

    def mode(self, outputs: Tensor) -> Tensor:
        return outputs

    def log_prob(self, outputs: Tensor, actions: Tensor) -> Tensor:
        r"""$-\frac{1}{2} \sum_j ((a_j - \mu_j) / \sigma_j)^2 - \sum_j \log \sigma_j \sqrt{2 \pi}$."""
        scaled = (actions - outputs) * (-self.log_std).exp()
        return -0.5 * scaled.square().sum(-1) - self.log_std.sum() - self.outputs * 0.5 * math.log(2 * math.pi)

    def entropy(self, outputs: Tensor) -> Tensor:
        r"""$\sum_j \log \sigma_j \sqrt{2 \pi e}$."""
        entropy = self.log_std.sum() + self.outputs * 0.5 * math.log(2 * math.pi * math.e)
        return entropy.expand(outputs.shape[:-1])


def in_bounds(actions: Tensor, space: Discrete | Box) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Actions as an environment takes them: numbers are cut off at their bounds."""
    taken = actions.detach().cpu().numpy()
    # Not np.clip, which takes three times as long for the one action of a copy.
    return taken if isinstance(space, Discrete) else np.minimum(np.maximum(taken, space.low), space.high)
