"""What is known of an activation before it is run, for blocks and for the modules of torch.nn of the same name."""

from torch import Tensor, nn

from gradlab.nn import activations
from gradlab.nn.activations import Activation, Behaviour

_SAME = ("ReLU", "ELU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softplus")
_TORCH: dict[type[nn.Module], Behaviour] = {
    **{getattr(nn, name): getattr(activations, name).behaviour for name in _SAME},
    nn.ReLU6: Behaviour(range=(0.0, 6.0), steep=(0.0, 6.0)),
    nn.Hardtanh: Behaviour(range=(-1.0, 1.0), steep=(-1.0, 1.0)),
    nn.Hardsigmoid: Behaviour(range=(0.0, 1.0), steep=(-3.0, 3.0)),
}


def behaviour_of(module: nn.Module) -> Behaviour | None:
    """
    >>> behaviour_of(nn.Tanh()).range, behaviour_of(nn.Linear(2, 2))
    ((-1.0, 1.0), None)
    """
    return module.behaviour if isinstance(module, Activation) else _TORCH.get(type(module))


def saturated_share(x: Tensor, behaviour: Behaviour) -> float | None:
    """The share of inputs at which the slope is below 0.01; None for an activation that is steep everywhere."""
    low, high = behaviour.steep
    if (low, high) == (-float("inf"), float("inf")) or not x.numel():
        return None
    return ((x <= low) | (x >= high)).double().mean().item()
