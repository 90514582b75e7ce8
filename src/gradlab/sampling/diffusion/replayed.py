"""The network of a sampler: on a GPU its call is recorded once, and replayed by the device at every step."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gradlab.nn.layout import channels_last
from gradlab.nn.plain import is_replayable
from gradlab.sampling.captured import recorded

_recordings: WeakKeyDictionary[nn.Module, "tuple[Any, Recording]"] = WeakKeyDictionary()  # the last of each network


def network(model: Callable[..., Tensor], x: Tensor, labels: Tensor | None) -> Callable[[Tensor, float], Tensor]:
    """A network as a function of noisy data of one shape, and of the time of all of them.

    What a recorded one says is written over by its next call.
    """
    if isinstance(model, nn.Module) and x.is_cuda and not torch.is_grad_enabled() and is_replayable(model):
        channels_last(model)
        recording = _recording(model, x, labels)
        recording.start(labels)
        return recording
    return lambda x, time: model(x, x.new_full((len(x),), time), labels)


class Recording:
    """A call of a network, on memory of its own for its inputs; under autocast also for the narrow weights of its maps,
    which would else be cast again at every step."""

    def __init__(self, model: nn.Module, x: Tensor, labels: Tensor | None):
        self.x, self.time = x.clone(), x.new_zeros(len(x))
        self.labels = None if labels is None else labels.clone()
        self.weights = _weights_of_maps(model) if torch.is_autocast_enabled(x.device.type) else {}
        narrow = torch.get_autocast_dtype(x.device.type)
        self.narrow = {name: weight.detach().to(narrow) for name, weight in self.weights.items()}
        self.said, self.replay = recorded(
            lambda: functional_call(model, self.narrow, (self.x, self.time, self.labels)), [], x.device
        )

    def start(self, labels: Tensor | None) -> None:
        """The classes of all examples from now on, and the weights as they are now."""
        if self.labels is not None and labels is not None:
            self.labels.copy_(labels)
        if self.weights:
            torch._foreach_copy_(list(self.narrow.values()), [w.detach() for w in self.weights.values()])

    def __call__(self, x: Tensor, time: float) -> Tensor:
        self.x.copy_(x)
        self.time.fill_(time)
        self.replay()
        return self.said


def _weights_of_maps(model: nn.Module) -> dict[str, Tensor]:
    """Those of convolutions and linear maps by name, which autocast would cast."""
    maps = {name: part for name, part in model.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)}
    return {f"{name}.{own}": weight for name, part in maps.items() for own, weight in part.named_parameters()}


def _recording(model: nn.Module, x: Tensor, labels: Tensor | None) -> Recording:
    """That of the last call, if it was like this one: on the same weights, whatever is in them."""
    narrow = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
    weights = tuple(part.data_ptr() for part in (*model.parameters(), *model.buffers()))
    key = (x.shape, x.dtype, x.device, labels is None, narrow, model.training, weights)
    if model not in _recordings or _recordings[model][0] != key:
        _recordings[model] = key, Recording(model, x, labels)
    return _recordings[model][1]
