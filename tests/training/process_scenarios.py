"""Trainings that the tests run in one process and, started by torchrun, in several that do them together.

`torchrun --nproc-per-node 2 process_scenarios.py FOLDER NAME…`: each process leaves what it saw in FOLDER/RANK.json.
"""

import hashlib
import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import gradlab
from gradlab import parallel
from gradlab.data import Examples, Stream, Targets
from gradlab.errors import GradlabError
from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.run import checkpoint as disk
from gradlab.run.checkpoint import Checkpoint
from gradlab.specs import Table
from gradlab.tasks import Classify, Objective, Task
from gradlab.training import driver
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

torch.set_num_threads(1)


class Sees(Observer):
    """Lines, the checkpoint of one step, and what some steps ask for."""

    every = 1

    def __init__(self, save: int | None = None, asks: dict[int, list[tuple[Any, ...]]] | None = None):
        self.save, self.asks = save, asks or {}
        self.lines: list[dict[str, Any]] = []
        self.checkpoint: Checkpoint | None = None

    def log(self, training: Any, line: Any) -> None:
        self.lines.append({k: v for k, v in line.items() if k != "seconds"})

    def step(self, training: Any) -> None:
        if training.progress.step == self.save:
            self.checkpoint = training.checkpoint()
        for request in self.asks.get(training.progress.step, ()):
            training.request(*request)


def flowers(count: int, seed: int = 0) -> Examples:
    """Three overlapping clouds of points."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(3, (count,), generator=generator)
    centres = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 0.5]])
    return Examples.of(centres[y] + torch.randn(count, 4, generator=generator), y, np.arange(count))


def network(**settings: Any) -> nn.Module:
    # In another process other weights: the first one's must count.
    torch.manual_seed(parallel.rank())
    return mlp(Table(4), 3, **{"hidden": [6], **settings})


def trained(
    model: nn.Module | None = None,
    task: Task | None = None,
    train: Any = None,
    validation: Any = "some",
    seen: Sees | None = None,
    restore: Checkpoint | None = None,
    **values: Any,
) -> dict[str, Any]:
    """What a training leaves."""
    plan = Plan(**plan_schema.resolve({"epochs": 3, "batch_size": 8, "log_every": 4, "lr": 0.01, **values}, "train"))
    seen = seen or Sees()
    model = network() if model is None else model
    task = task or Classify(Targets(classes=["a", "b", "c"]))
    train = flowers(45) if train is None else train
    validation = flowers(20, seed=1) if validation == "some" else validation
    with driver.training(model, task, train, validation, plan, observers=[seen]) as training:
        if restore is not None:
            training.restore(restore)
        progress = training.run()
    state = {name: value.detach().double() for name, value in model.state_dict().items()}
    content = b"".join(value.numpy().tobytes() for value in state.values())
    return {
        "lines": seen.lines,
        "steps": progress.step,
        "ended": progress.ended,
        "best": progress.best_step,
        "weights": {name: value.flatten().tolist() for name, value in state.items()},
        "digest": hashlib.sha256(content).hexdigest(),
    }


def resumed(step: int, **settings: Any) -> dict[str, Any]:
    """A training, and the same from its checkpoint of a step on."""
    made = {name: settings.pop(name) for name in ("model", "train") if name in settings}
    seen = Sees(save=step)
    whole = trained(seen=seen, **{name: make() for name, make in made.items()}, **settings)
    torch.manual_seed(99)  # what a resumed process draws comes from the checkpoint or the step alone
    assert seen.checkpoint is not None
    stored = parallel.first(lambda: str(disk.write(Path(tempfile.mkdtemp()), seen.checkpoint)))  # for all of them
    restore = disk.read(Path(stored))
    rest = trained(restore=restore, **{name: make() for name, make in made.items()}, **settings)
    return {"whole": whole, "rest": rest}


# Scenarios: what they return is JSON.


def plain() -> Any:
    return trained(optimizer="adam", clip=1.0, weight_decay=0.01)


def everything() -> Any:
    return trained(ema=0.9, l1=0.001, max_norm=0.8, accumulate=3, keep="last", schedule="cosine")


def small_last_batches() -> Any:
    """Of 2 examples, which are fewer than three processes."""
    return trained(train=flowers(22), batch_size=5, optimizer="adam")


def resumed_at_a_small_batch() -> Any:
    return resumed(4, train=lambda: flowers(22), batch_size=5)


def dropped() -> Any:
    """With dropout, to the bit; and what each process dropped."""
    masks: list[list[bool]] = []

    def model() -> nn.Module:
        made = network(dropout=0.5, hidden=[32], activation=Part("tanh"))
        dropout = next(m for m in made.modules() if isinstance(m, nn.Dropout))
        dropout.register_forward_hook(
            lambda module, inputs, output: masks.append((output[0] == 0).tolist()) if module.training else None
        )
        return made

    return {**resumed(7, model=model), "masks": masks}


def unlabelled(count: int) -> Examples:
    """Most labels are missing: some parts of a batch have none at all."""
    examples = flowers(count)
    return examples.but(targets=torch.where(torch.arange(count) % 5 == 0, examples.targets, -1))


class Named(Task):
    """Losses with counts of every kind, of which two are equal by chance."""

    def objectives(self) -> Any:
        return {"loss": Objective(loss=self.losses)}

    def losses(self, model: Any, batch: Any) -> Any:
        output, y = model(batch["inputs"]), batch["targets"]
        labelled = (y >= 0).sum()
        return {
            "labels": (F.cross_entropy(output, y, ignore_index=-1, reduction="sum"), labelled),
            "again": (F.mse_loss(output, output.detach().sign(), reduction="sum"), labelled),
            "sizes": (output.square().sum(), output.numel()),
            "rows": (output.abs().sum(), len(output)),
            "smoothness": (output.diff(dim=1).square().sum(), len(output)),
        }


def named() -> Any:
    return trained(task=Named(), train=unlabelled(45), validation=unlabelled(20), accumulate=2)


class Turns(Task):
    """Two parts of a model in turn, with optimisers of their own."""

    def objectives(self) -> Any:
        last, first = ["3", "4"], ["0"]
        return {
            "last": Objective(loss=self.labels, moves=last, train={"optimizer": "momentum", "lr": 0.02}),
            "first": Objective(loss=self.small, moves=first, train={"clip": 0.5}),
        }

    def labels(self, model: Any, batch: Any) -> Any:
        return F.cross_entropy(model(batch["inputs"]), batch["targets"], reduction="sum"), len(batch["targets"])

    def small(self, model: Any, batch: Any) -> Any:
        output = model(batch["inputs"])
        return output.square().sum(), output.numel()


def turns() -> Any:
    return trained(task=Turns(), model=network(hidden=[6, 5]))


class Normalised(nn.Module):
    """Every kind of batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(parallel.rank())
        self.first = nn.Sequential(nn.Conv2d(1, 3, 1), nn.BatchNorm2d(3, momentum=None), nn.Tanh())
        self.second = nn.Sequential(nn.Linear(12, 6), nn.BatchNorm1d(6, affine=False), nn.Tanh())
        self.last = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))

    def forward(self, x: Any) -> Any:
        return self.last(self.second(self.first(x.view(-1, 1, 2, 2)).flatten(1)))


def normalised() -> Any:
    return trained(model=Normalised(), sync_batch_norm=True, optimizer="sgd", keep="last")


def normalised_without_memory() -> Any:
    """Batch normalisation that keeps no running means, and uses those of the batch when it is judged too."""
    model = Normalised()
    model.second[1] = nn.Identity()
    model.last[1] = nn.Identity()
    model.first[1] = nn.BatchNorm2d(3, track_running_stats=False)
    return trained(model=model, sync_batch_norm=True, optimizer="sgd")


def normalised_in_parts() -> Any:
    return trained(model=Normalised(), train=flowers(44), sync_batch_norm=True, accumulate=2, optimizer="sgd")


def normalised_in_half() -> Any:
    """In mixed precision, also on a CPU that is refused it for being slow: processes see no fixture of the tests."""
    with mock.patch.object(torch.cpu, "_is_avx512_bf16_supported", return_value=True):
        return trained(model=Normalised(), sync_batch_norm=True, optimizer="sgd", precision="bf16")


def normalised_by_itself() -> Any:
    return trained(model=Normalised(), optimizer="sgd", keep="last")


class Constant(nn.Module):
    """A table that is given, as positions are: nobody may change a bit of it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(parallel.rank())
        self.map = nn.Linear(4, 3)
        self.register_buffer("table", torch.linspace(0.1, 7.3, 4))

    def forward(self, x: Any) -> Any:
        return self.map(x * self.table)


def constant() -> Any:
    return trained(model=Constant(), validation=None)


def asked() -> Any:
    """By the last of them, far from any log point; one asks for a stop."""
    mine = parallel.rank() == parallel.count() - 1
    seen = Sees(asks={3: [("lr", 0.5)], 5: [("evaluate",)], 9: [("stop",)]} if mine else {})
    return trained(seen=seen, log_every=1000, evaluate_every=1000)


class Walk(Stream):
    """Draws from torch's generator: each process its own batches."""

    device, steps_per_epoch, batch_size = torch.device("cpu"), 6, 5

    def batches(self, step: int) -> Any:
        while True:
            x = torch.randn(5, 4)
            yield {"inputs": x, "targets": x[:, :3].argmax(1)}


def walked() -> Any:
    model = {"dropout": 0.2, "norm": Part("batch")}
    return resumed(7, train=Walk, model=lambda: network(**model), steps=15, sync_batch_norm=True)


class Moody(Classify):
    """An evaluation that each process would end with another figure."""

    def evaluate(self, model: Any, split: Any) -> dict[str, float]:
        return {"loss": float(torch.rand(())) + parallel.rank()}


def moody() -> Any:
    task = Moody(Targets(classes=["a", "b", "c"]))
    return trained(task=task, patience=3, evaluate_every=1, epochs=20, schedule={"name": "plateau", "patience": 1})


def wrapped() -> Any:
    """By the user, in DDP."""
    model = network()
    return trained(model=nn.parallel.DistributedDataParallel(model) if parallel.count() > 1 else model)


def diverged() -> Any:
    """In the part of the last process alone."""

    class Breaks(Observer):
        every = 5

        def step(self, training: Any) -> None:
            if parallel.rank() == parallel.count() - 1:
                training.model[0].register_forward_hook(lambda module, inputs, output: output * torch.nan)

    plan = Plan(**plan_schema.resolve({"epochs": 3, "batch_size": 8}, "train"))
    model, task = network(), Classify(Targets(classes=["a", "b", "c"]))
    with driver.training(model, task, flowers(45), None, plan, observers=[Breaks()]) as training:
        try:
            training.run()
        except GradlabError as error:
            return {"error": str(error), "step": training.progress.step}
    return {}


def refusals() -> Any:
    """What several processes cannot do."""
    normalised = {"model": network(norm=Part("batch"))}
    over_all = {**normalised, "sync_batch_norm": True}
    tries: dict[str, Any] = {
        "lbfgs": {"optimizer": "lbfgs", "batch_size": "full"},
        "a small batch": {"batch_size": 1},
        "parts of one": {**normalised, "batch_size": 3},
        "a last part of one": {**normalised, "train": flowers(3 * 8 + 3)},
        "parts of parts of one": {**normalised, "batch_size": 12, "train": flowers(36), "accumulate": 4},
        "a small last batch": {**over_all, "train": flowers(8 + 2)},
        "unequal parts": {**over_all, "train": flowers(8 + 4), "accumulate": 2},
    }
    said = {}
    for name, values in tries.items():
        try:
            trained(**values)
            said[name] = ""
        except GradlabError as error:
            said[name] = str(error)
    return said


def exchanges() -> Any:
    """What processes tell each other."""
    rank, count = parallel.rank(), parallel.count()

    def refuse() -> None:
        raise GradlabError("The disk is full.")

    def different() -> None:
        parallel.check_same("recipe", "of the last" if rank == count - 1 else "of the others")

    said = []
    for fails in (lambda: parallel.first(refuse), different):
        try:
            fails()
        except GradlabError as error:
            said.append([str(error), error.everywhere, error.exit_code])
    parallel.check_same("recipe", "the same")
    rows = torch.arange(rank + 1.0)
    return {
        "every": parallel.every({"rank": rank, "text": "x" * rank, "none": None, "nan": float("inf")}),
        "first": parallel.first(lambda: [rank, "made"]),
        "sums": [float(total) for total in parallel.sums([rank, torch.tensor(0.5)])],
        "named sums": {name: float(total) for name, total in parallel.sums({"b": rank, "a": 1}).items()},
        "merged": parallel.merged(rows, lambda one, other: torch.cat([one, other])).tolist() if count > 1 else [],
        "share": parallel.share(flowers(7)).rows.tolist(),
        "small share": parallel.share(flowers(1)).rows.tolist(),
        "no share": parallel.share([1, 2, 3, 4, 5]),
        "said": said,
    }


class Counts(Observer):
    """How often it is called, and the steps at which it is."""

    every = 1

    def __init__(self) -> None:
        self.steps: list[int] = []

    def step(self, training: Any) -> None:
        self.steps.append(training.progress.step)


def fitted(data: Examples, folder: str | None = None, **options: Any) -> dict[str, Any]:
    """What a call of `fit` leaves in this process."""
    counts = Counts()
    try:
        fit = gradlab.fit(
            network(),
            data,
            validation=flowers(20, seed=1),
            out=folder,
            observers=[counts],
            **{"epochs": 2, "batch_size": 8, "doctor": False, **options},
        )
    except GradlabError as error:
        return {"refused": str(error)}
    content = b"".join(value.detach().numpy().tobytes() for value in fit.model.state_dict().values())
    return {
        "watched": counts.steps,
        "losses": [line["loss"] for line in fit.history],
        "validation": fit.validation,
        "digest": hashlib.sha256(content).hexdigest(),
        "training": fit.model.training,
    }


def fit_without_folder() -> Any:
    return fitted(flowers(45))


def fit_with_folder() -> Any:
    """A new folder, the same call again, and calls that do not agree with it or with each other."""
    folder = parallel.first(lambda: str(Path(tempfile.mkdtemp(), "run")))
    differing = flowers(45, seed=parallel.rank())
    return {
        "new": fitted(flowers(45), folder),
        "again": fitted(flowers(45), folder),
        "other plan": fitted(flowers(45), folder, epochs=3),
        "other data": fitted(flowers(45, seed=5), folder),
        "each its own data": fitted(differing, f"{folder}-2"),
        "folders": parallel.first(lambda: sorted(path.name for path in Path(folder).parent.iterdir())),
    }


SCENARIOS = {
    made.__name__: made
    for made in (
        plain,
        everything,
        small_last_batches,
        resumed_at_a_small_batch,
        dropped,
        named,
        turns,
        normalised,
        normalised_without_memory,
        normalised_in_parts,
        normalised_in_half,
        normalised_by_itself,
        constant,
        asked,
        walked,
        moody,
        wrapped,
        diverged,
        refusals,
        exchanges,
        fit_without_folder,
        fit_with_folder,
    )
}


def main(folder: str, *names: str) -> None:
    with parallel.joined():
        results = {}
        for name in names:
            try:
                results[name] = SCENARIOS[name]()
            except Exception:
                results[name] = {"failed": traceback.format_exc()}
                break  # the others would wait for what this one has left out
        Path(folder, f"{parallel.rank()}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
