"""A user may fix any setting: our own blocks with each setting fixed, and torch's modules, are accepted."""

import typing
from typing import Any, Literal, get_args, get_origin

import pytest
import torch
from torch import nn

from gradlab.nn.blocks import blocks, settings_of
from gradlab.verification import examples
from gradlab.verification.running import verify_like

CLASSES = sorted(name for name in blocks if isinstance(blocks[name], type))
OTHER = {"eps": (1e-6, 0.1), "momentum": (0.3, None), "p": (0.2,), "dropout": (0.1,), "base": (500.0,)}
"""Values of numbers that differ from the default."""


def options(name: str) -> list[dict[str, Any]]:
    """Each setting of a block at each other value that it can have; a size, at that of the example."""
    block, example = blocks[name], examples[name]().settings
    fixed = []
    for setting, parameter in settings_of(block).items():
        kinds = [parameter.annotation, *_within(parameter.annotation)]
        values: set[Any] = {value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)}
        values |= {True, False} if isinstance(parameter.default, bool) else set()
        values |= {*OTHER.get(setting, ())} if setting in OTHER else set()
        values |= {2 * parameter.default} if type(parameter.default) is float and setting not in OTHER else set()
        if type(example.get(setting)) in (int, str) and not isinstance(parameter.default, bool):
            values |= {example[setting]}
        fixed += [{setting: value} for value in sorted(values, key=str) if value != parameter.default or not values]
    return fixed


def _within(annotation: Any) -> list[Any]:
    inside = [part for part in typing.get_args(annotation) if get_origin(part) is not None]
    return [*inside, *(deeper for part in inside for deeper in _within(part))]


def subclass(name: str) -> type:
    return type("Mine", (blocks[name],), {})


FIXED = [pytest.param(name, values, id=f"{name}-{values}") for name in CLASSES for values in options(name)]


TORCHS = [
    (nn.GELU, "activation.gelu", {"approximate": "tanh"}),
    (nn.LayerNorm, "norm.layer", {}),
    (nn.RMSNorm, "norm.rms", {"eps": 1e-6}),
    (nn.BatchNorm1d, "norm.batch", {}),
    (nn.MultiheadAttention, "attention.multihead", {"batch_first": True}),
    (nn.LSTM, "recurrent.lstm", {}),
    (nn.GRUCell, "recurrent.gru_cell", {}),
    (nn.Embedding, "dense.embedding", {}),
    (nn.Dropout, "regularisation.dropout", {}),
    (torch.tanh, "activation.tanh", {}),
]


def accepted(implementation: Any, like: str, values: dict[str, Any], cases: int) -> None:
    verification = verify_like(implementation, like, values, "mine", cases)
    assert verification.verdict == "agrees", str(verification)


@pytest.mark.parametrize(("module", "like", "values"), TORCHS)
def test_what_torch_has_is_accepted(module: Any, like: str, values: dict[str, Any]) -> None:
    accepted(module, like, values, 4)


@pytest.mark.parametrize("name", CLASSES)
def test_a_bare_subclass_is_accepted(name: str) -> None:
    accepted(subclass(name), name, {}, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "values"), FIXED)
def test_a_bare_subclass_with_a_setting_fixed_is_accepted(name: str, values: dict[str, Any]) -> None:
    accepted(subclass(name), name, values, 10)
