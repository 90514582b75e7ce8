"""A family of calls of `gl.fit`, in which one or two arguments are what no caller should pass."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attempt import Attempt
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

_X, _Y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2


class _Items(Dataset[Any]):
    """A Dataset of the items that it is made with."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class _Lines(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter([1, "two", None])


def _array(rng: random.Random) -> Any:
    """An array, tensor or list of a type, shape or content that may be wrong."""
    kind = rng.choice(["f2", "f4", "f8", "i1", "i8", "u8", "u2", "c8", "b", "U3", "O", "M8[s]"])
    shape = rng.choice([(), (0,), (12,), (12, 1), (12, 3), (12, 0), (0, 3), (12, 2, 2), (1, 3), (12, 4)])
    numbers = np.array([rng.choice([0, 1, 2, 5]) for _ in range(int(np.prod(shape)))]).reshape(shape)
    array = numbers.astype(kind)
    if kind in ("f4", "f8") and array.size and rng.random() < 0.3:
        array.flat[0] = rng.choice([np.nan, np.inf, 3e38])
    draw = rng.random()
    if draw < 0.15:
        return array.tolist()
    if draw < 0.3 and kind in ("f2", "f4", "f8", "i1", "i8", "c8", "b"):
        return torch.from_numpy(array)
    if draw < 0.4:
        return rng.choice(
            [torch.eye(12).to_sparse(), torch.empty(12, 3, device="meta"), torch.zeros(12, 3, requires_grad=True), None,
             "text", 5, [[1, 2], [3]], object(), torch.zeros(12, 3, dtype=torch.bfloat16)]
        )  # fmt: skip
    return array


def _batches(*widths: int) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(4, width), torch.arange(4) % 2) for width in widths]


def _data(rng: random.Random) -> Any:
    """Data of any of the forms that fit takes, and of forms that it does not."""
    x, y = torch.tensor(_X, dtype=torch.float32), torch.tensor(_Y)
    forms: list[Callable[[], Any]] = [
        lambda: (_array(rng), _Y),
        lambda: (_X, _array(rng)),
        lambda: (_array(rng), _array(rng)),
        lambda: (_X, _Y, _array(rng)),
        lambda: tuple(_array(rng) for _ in range(rng.choice([0, 1, 4]))),
        lambda: {rng.choice(["inputs", "x", "", 5]): _array(rng), rng.choice(["targets", "y"]): _Y},
        lambda: _array(rng),
        lambda: _Items([]),
        lambda: _Items([(1.0, 2), (1.0, "two")]),
        lambda: _Items([(x[0], 1), (x[0, :2], 1)]),
        lambda: _Items([None, None]),
        lambda: _Lines(),
        lambda: TensorDataset(x, y),
        lambda: DataLoader(TensorDataset(x, y), batch_size=4, drop_last=True),
        lambda: DataLoader(TensorDataset(x[:0], y[:0])),
        lambda: _batches(),
        lambda: _batches(3, 4),
        lambda: _batches(4),
        lambda: iter(_batches(3)),
        lambda: [x, y],
        lambda: [(x,), 5],
        lambda: [None],
        lambda: [{"inputs": x, "targets": y[:5]}],
        dict,
        lambda: None,
        lambda: "data.csv",
        lambda: range(3),
        lambda: TensorDataset,
    ]
    return rng.choice(forms)()


class _Strange(nn.Module):
    """A module whose output is what it is made with, if that is not a function of the input."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))
        self.output = output

    def forward(self, x: Tensor) -> Any:
        return self.output(x, self.weight) if callable(self.output) else self.output


def _model(rng: random.Random) -> Any:
    models: list[Callable[[], Any]] = [
        lambda: nn.Linear(4, 2),
        lambda: nn.Linear(3, 1),
        lambda: nn.Linear(3, 2).double(),
        lambda: nn.Linear(3, 2).half(),
        lambda: nn.Linear(3, 2, device="meta"),
        lambda: nn.LazyLinear(2),
        lambda: nn.Sequential(),
        lambda: nn.Linear(3, 2).requires_grad_(requires_grad=False),
        lambda: nn.Embedding(3, 2),
        lambda: nn.LSTM(3, 2),
        lambda: nn.BatchNorm1d(3),
        lambda: nn.Linear,
        lambda: None,
        lambda: lambda x: x,
        lambda: _Strange(None),
        lambda: _Strange("text"),
        lambda: _Strange(torch.zeros(1, 2)),
        lambda: _Strange(lambda x, w: (x @ w, 5)),
        lambda: _Strange(lambda x, w: {"logits": x @ w}),
        lambda: _Strange(lambda x, w: (x @ w).detach()),
        lambda: _Strange(lambda x, w: (x @ w).sum()),
        lambda: _Strange(lambda x, w: x @ w * float("nan")),
        lambda: _Strange(lambda x, w: (x @ w)[:1]),
        lambda: _Strange(lambda x, w: torch.complex(x @ w, x @ w)),
    ]
    return rng.choice(models)()


_RESULTS: list[Callable[..., Any]] = [  # of a loss, an objective or a metric
    lambda *_: None,
    lambda *_: "text",
    lambda *_: 1.5,
    lambda *_: torch.zeros(3),
    lambda *_: torch.tensor(float("nan")),
    lambda *_: torch.tensor(1),
    lambda *_: torch.ones((), requires_grad=True),
    lambda *_: (torch.ones((), requires_grad=True), 0),
    lambda *_: (torch.ones((), requires_grad=True), -1),
    lambda *_: (torch.ones((), requires_grad=True), "n"),
    lambda *_: (1, 2, 3),
    lambda *_: (),
    lambda *_: {},
    lambda *_: torch.ones(2, 2, 2),
    lambda *_: (torch.zeros(5), 5),
]


def _weighed(model: nn.Module, batch: Any) -> Any:
    """A sound objective."""
    return model(batch["inputs"]).pow(2).sum(), len(batch["inputs"])


def _function(rng: random.Random) -> Any:
    return rng.choice([*_RESULTS, _weighed, lambda: 0, lambda a: 0, 5, "mse", "nothing", [], None, nn.MSELoss, max])


_NAMES = ["", "a", "a/b", "loss", "../x", "\x1b[31m", "a" * 300, 5, None, "-loss", "step", "accuracy"]
_CHOICES: dict[str, list[Any]] = {
    "criterion": [5, "", "nothing", "-", ["loss"], "accuracy", "-accuracy", max, True, "loss", "-loss"],
    "groups": [
        5, [], {"": {}}, {"weight": {"lr": -1}}, {"weight": 5}, {"nothing": {"lr": 1}}, {0: {"lr": 1}},
        {"weight": None},
        {"weight": {"momentum": 0.5}}, {"weight": {"lr": "x"}}, {"weight": {"lr": float("nan")}}, "weight",
        {"": {"lr": 1}},
        {"w": {"lr": 0.1}, "weight": {"lr": 0.2}}, {"weight": {"lr": 10**400}}, {"weight": {"weight_decay": -1}},
    ],
    "out": ["r", "a\0b", "", ".", "x" * 300, 5, Path("a/b/c"), "\ud800", "\x1b[31m", [], b"r", "r/", "file.txt"],
    "device": [[1], "cpu", "cuda", "meta", "cpu:7", "", 5, torch.device("cpu"), "gpu", "mps", "\x1b[31m", b"cpu"],
    "observers": [5, [1], [object()], "x", [None], [max], {}, (), [[]]],
    "optimizer": ["adam", "nothing", 5, None, torch.optim.Adam, {"name": "sgd"}, "sgd", "lbfgs", "", [],
                  {"momentum": 0.9}],
    "schedule": ["cosine", "nothing", 5, {"name": "step"}, "", {"warmup": 5}, max],
    "batch_size": [0, -1, 1.5, "full", "auto", "many", None, 2**70, [4], True, 5, float("nan")],
    "lr": [0, -1, float("nan"), float("inf"), "x", None, 1e-300, 1e300, 10**400, [0.1], True, torch.tensor(0.1)],
    "epochs": [0, -1, 1.5, "x", None, [1], True, float("nan")],
    "steps": [0, -1, 1.5, "x", [1], True, float("inf")],
    "seed": [-1, 2**70, 1.5, "x", None, [], True],
    "precision": ["bf16", "fp16", "fp64", "nothing", 5, None, "", "fp8"],
    "freeze": ["weight", "nothing", 5, [], [""], ["weight", "bias"], "*"],
    "max_norm": [0, -1, "x", float("nan"), 1e-300, 1e300],
    "clip": [0, -1, "x", float("nan"), 1e-300, None],
    "ema": [0, -1, 1, 2, "x", float("nan"), 0.5],
    "compile": ["off", "on", "nothing", 5, True, None],
    "doctor": [True, "x", 5, None],
    "keep": ["best", "last", "nothing", 5],
    "log": ["none", "tensorboard", "nothing", 5],
    "checkpoint_every": [0, -1, 1, "x", 2**70],
    "log_every": [0, -1, 1, "x", 2**70],
    "evaluate_every": [0, -1, 1, "x", 2**70],
    "patience": [0, -1, 1, "x", 2**70],
    "accumulate": [0, -1, 1, 5, "x", 2**70],
    "nothing": [1],
    "epoch": [1],
}  # fmt: skip


def _drawn(rng: random.Random, name: str) -> Any:
    """A value for an argument that may be wrong."""
    if name in _CHOICES:
        return rng.choice(_CHOICES[name])
    if name == "data":
        return _data(rng)
    if name == "validation":
        return _data(rng) if rng.random() < 0.6 else rng.choice([-1, 1, 2, 0.5, float("nan"), True, "x", 0.01, 0.99])
    if name == "model":
        return _model(rng)
    if name == "loss":
        return _function(rng)
    pairs = {rng.choice(_NAMES): _function(rng) for _ in range(rng.choice([0, 1, 2]))}
    return rng.choice([pairs, pairs, _function(rng), [1]])


_ARGUMENTS = ["data", "validation", "model", "loss", "objective", "metrics", *_CHOICES]
_WEIGHTS = [16, 10, 12, 8, 8, 8, *(1 for _ in _CHOICES)]


def fit(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A call of `gl.fit` with one or two arguments that it must refuse, or take for what they are."""
    names = rng.choices(_ARGUMENTS, _WEIGHTS, k=rng.choice([1, 1, 2]))
    wrong = {name: _drawn(rng, name) for name in names}
    arguments = {"data": (_X, _Y), "model": nn.Linear(3, 2), "steps": 2, "doctor": False, "device": "cpu"} | wrong
    if "epochs" in wrong:
        arguments.pop("steps")
    if rng.random() < 0.15:
        arguments.setdefault("out", "r")
    without_gradients = rng.random() < 0.03

    def call() -> None:
        import gradlab as gl

        torch.manual_seed(0)
        with torch.set_grad_enabled(not without_gradients):
            gl.fit(arguments.pop("model"), arguments.pop("data"), **arguments)

    shown = {name: repr(value)[:120] for name, value in wrong.items()} | ({"no_grad": ""} if without_gradients else {})
    return Attempt(f"gl.fit {shown}", call=call)
