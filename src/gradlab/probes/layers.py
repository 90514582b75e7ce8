"""Every layer in figures: how its outputs are spread, which of its units are dead, and what gradient reaches it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.probes.recording import ModuleCall, Recording

_BARS = 40
_VALUES = 2**20  # of a layer that a histogram is drawn from
_FEW = 8  # values of a unit that say nothing of its death if they are 0
_QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)


@dataclass(frozen=True)
class Distribution:
    """How numbers are distributed; of those that are finite."""

    mean: float
    std: float
    quantiles: tuple[float, ...]
    """Of 1, 25, 50, 75 and 99 %."""

    counts: list[int]
    edges: list[float]
    """A histogram: the bars, and where each begins; the last one is where they end."""


@dataclass(frozen=True)
class LayerValues:
    """One module of a model, on one batch. A figure that does not exist is None."""

    name: str
    kind: str
    shape: tuple[int, ...]
    """Of its output, without the batch."""

    calls: int
    outputs: Distribution
    zeros: float
    """The share of its outputs that are 0."""

    units: int
    dead: int
    """How many of its units (the channels of pictures, else the last axis) gave 0 everywhere. Where there are too few
    examples to say, both are 0."""

    saturated: float | None
    """The share of inputs at which its slope is below 0.01, for activations of known behaviour."""

    broken: int
    """How many outputs are NaN or infinite."""

    gradient: float | None
    """The norm of the loss's gradient with respect to its outputs."""

    parameters: int
    weight: float | None
    """The norm of its own parameters."""

    weight_gradient: float | None
    """The norm of the loss's gradient with respect to them."""

    @property
    def ratio(self) -> float | None:
        """By how much of themselves the parameters would move at a learning rate of 1."""
        if self.weight_gradient is None or not self.weight:
            return None
        return self.weight_gradient / self.weight


def layer_values(recording: Recording) -> list[LayerValues]:
    """Each module that computed something or has parameters of its own, in the order in which they first ended."""
    calls: dict[str, list[ModuleCall]] = {}
    for call in recording.calls:
        if not call.handed_on or any(True for _ in call.module.parameters(recurse=False)):
            calls.setdefault(call.name, []).append(call)
    owned = _owned(recording.model, set(calls))
    return [_layer(name, own, owned.get(name, {}), recording) for name, own in calls.items()]


def _layer(name: str, calls: list[ModuleCall], owned: dict[str, nn.Parameter], recording: Recording) -> LayerValues:
    outputs = [call.outputs[0] for call in calls]
    values = torch.cat([output.flatten() for output in outputs])
    finite = values.isfinite()
    units, dead = _units(outputs)
    shares = [call.saturated for call in calls if call.saturated is not None]
    return LayerValues(
        name=name,
        kind=type(calls[0].module).__name__,
        shape=tuple(outputs[0].shape[1:]),
        calls=len(calls),
        outputs=_spread(values[finite].double()),
        zeros=(values == 0).double().mean().item(),
        units=units,
        dead=dead,
        saturated=sum(shares) / len(shares) if shares else None,
        broken=int((~finite).sum()),
        gradient=_norm([call.gradients[0] for call in calls]),
        parameters=sum(p.numel() for p in owned.values()),
        weight=_norm([p.detach() for p in owned.values()]),
        weight_gradient=_norm([recording.gradients.get(key) for key in owned]),
    )


def _owned(model: nn.Module, names: set[str]) -> dict[str, dict[str, nn.Parameter]]:
    """Each parameter belongs to the innermost module of these names that it is in.

    A module may use a part's weights without calling it, as PyTorch's attention does.
    """
    owned: dict[str, dict[str, nn.Parameter]] = {}
    for key, parameter in model.named_parameters():
        owner = key
        while owner and owner not in names:
            owner = owner.rpartition(".")[0]
        owned.setdefault(owner, {})[key] = parameter
    return owned


def _units(outputs: list[Float[Tensor, "batch ..."]]) -> tuple[int, int]:
    """How many units there are, and how many of them gave nothing but 0."""
    axis = 1 if outputs[0].ndim >= 4 else outputs[0].ndim - 1
    active = [(output != 0).movedim(axis, 0).flatten(1).any(1) for output in outputs if output.ndim > axis > 0]
    if not active or any(len(a) != len(active[0]) for a in active):
        return 0, 0
    if sum(output.numel() for output in outputs) < _FEW * len(active[0]):
        return 0, 0
    alive = torch.stack(active).any(0)
    return len(alive), int((~alive).sum())


def _spread(values: Float[Tensor, " numbers"]) -> Distribution:
    if not len(values):
        return Distribution(float("nan"), float("nan"), (float("nan"),) * len(_QUANTILES), [0], [0.0, 0.0])
    some = values[:: -(-len(values) // _VALUES)]
    low, high = some.min().item(), some.max().item()
    counts = torch.histc(some, _BARS, low, high) if high > low else torch.tensor([float(len(some))])
    edges = torch.linspace(low, high, len(counts) + 1, dtype=torch.float64)
    quantiles = torch.quantile(some, torch.tensor(_QUANTILES, dtype=some.dtype, device=some.device))
    return Distribution(
        mean=values.mean().item(),
        std=values.std(correction=0).item(),
        quantiles=tuple(quantiles.tolist()),
        counts=[int(count) for count in counts.tolist()],
        edges=edges.tolist(),
    )


def _norm(parts: Sequence[Tensor | None]) -> float | None:
    """Of all the numbers together."""
    norms = [part.double().norm() for part in parts if part is not None]
    return float(torch.stack(norms).norm()) if norms else None
