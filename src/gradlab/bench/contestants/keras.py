"""Keras 3 with PyTorch under it, in Keras's own layers."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work
from gradlab.nn import ReLU


class Keras(Contestant):
    """compile and fit, with the first weights of the torch model copied in."""

    def build(self, work: Work) -> Any:
        layers = list(_layers(list(work.model().children())))
        model = keras.Sequential([keras.Input(work.inputs.shape[1:]), *(layer for layer, _ in layers)])
        for layer, weights in layers:
            layer.set_weights([w.detach().numpy() for w in weights])
        return model

    def train(self, model: Any, work: Work) -> int:
        case = work.case
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer=keras.optimizers.Adam(case.lr), loss=loss)
        model.fit(work.inputs, work.targets, batch_size=case.batch_size, epochs=case.epochs, verbose=0)
        return int(model.optimizer.iterations)

    def logits(self, model: Any, work: Work) -> npt.NDArray[np.floating]:
        return np.asarray(model.predict(work.inputs, verbose=0))


def _layers(modules: list[nn.Module]) -> Iterator[tuple[Any, list[Tensor]]]:
    """Each torch layer as Keras's own, and its weights in Keras's order of axes; channels first, as torch computes."""
    for module, after in zip(modules, [*modules[1:], None], strict=True):
        activation = "relu" if isinstance(after, ReLU) else None
        if isinstance(module, nn.Linear):
            yield keras.layers.Dense(module.out_features, activation=activation), [module.weight.T, module.bias]
        elif isinstance(module, nn.Conv2d):
            padding = "same" if module.padding[0] else "valid"
            options = {"padding": padding, "activation": activation, "data_format": "channels_first"}
            assert module.bias is not None
            layer = keras.layers.Conv2D(module.out_channels, module.kernel_size, **options)
            yield layer, [module.weight.permute(2, 3, 1, 0), module.bias]
        elif isinstance(module, nn.MaxPool2d):
            yield keras.layers.MaxPooling2D(module.kernel_size, data_format="channels_first"), []
        elif isinstance(module, nn.Flatten):
            yield keras.layers.Reshape((-1,)), []  # keras.layers.Flatten would move the channels last
        else:
            assert isinstance(module, ReLU), module
