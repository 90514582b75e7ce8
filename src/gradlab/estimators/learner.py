"""A network that learns in instalments: each goes on exactly where the last one stopped."""

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.data import Examples, Preprocessing
from gradlab.run.checkpoint import Checkpoint
from gradlab.tasks import Task, predict
from gradlab.tasks.finite import check_outputs
from gradlab.training import driver
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan
from gradlab.training.progress import Progress


@dataclass(kw_only=True)
class Learner:
    """A network, its preprocessing and where its training stands, trained by the loop of every other run."""

    model: nn.Module
    preprocessing: Preprocessing
    seed: int
    epochs: int = 0
    losses: list[float] = field(default_factory=list)
    standing: Checkpoint | None = None

    def train(
        self,
        task: Task,
        train: Examples,
        held: Examples | None,
        plan: Plan,
        epochs: int,
        observers: Sequence[Observer] = (),
    ) -> None:
        """So many epochs more. The plan's own number of epochs is what its schedule is laid out for."""
        per_epoch, first = plan.steps_per_epoch(len(train)), self.epochs
        plan = replace(plan, epochs=max(plan.epochs, first + epochs), log_every=per_epoch, seed=self.seed)
        diary = _Diary()
        length: dict[str, Any] = {"steps": (first + epochs) * per_epoch}
        cost = driver.example_cost(self.model, task, train)
        length["mode"] = driver.mode_of(self.model, train, plan, cost, steps=epochs * per_epoch)
        with driver.training(self.model, task, train, held, plan, **length, observers=[diary, *observers]) as training:
            if self.standing is not None:
                training.restore(self._resumed(self.standing, first * per_epoch))
            progress = training.run()
        self.model.eval()
        self.epochs = math.ceil(progress.step / per_epoch)
        self.losses = [*self.losses, *diary.losses]
        self.standing = diary.standing

    def _resumed(self, standing: Checkpoint, step: int) -> Checkpoint:
        """Where the next epoch starts: at the network's weights, unless those are an average of others."""
        rng = {kind: state for kind, state in standing.state["rng"].items() if kind in ("cpu", self.device.type)}
        state = {"progress": asdict(Progress(step=step)), "rng": rng}
        return replace(standing, model=standing.model or self.model.state_dict(), state=state)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def prepared(self, raw: npt.NDArray[Any]) -> Tensor:
        """Raw inputs as the network takes them, where it is."""
        return self.preprocessing(raw, dtype=self.dtype).to(self.device)

    def outputs(self, raw: npt.NDArray[Any]) -> Tensor:
        """What the network gives for raw inputs, on the host."""
        return check_outputs(predict(self.model, self.prepared(raw))).cpu()

    def __getstate__(self) -> dict[str, Any]:
        """For copies that travel to other processes and machines, which may lack the device it was trained on."""
        model = self.model if self.device.type == "cpu" else copy.deepcopy(self.model).cpu()
        return {**self.__dict__, "model": model}


class _Diary(Observer):
    """The mean loss of each epoch, and where the training stands when it ends."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.standing: Checkpoint | None = None

    @property
    def losses(self) -> list[float]:
        return [line["loss"] for line in self.lines]

    def log(self, training: Training, line: Line) -> None:
        if line["split"] == "train":
            self.lines.append(line)

    def rewind(self, training: Training) -> None:
        self.lines = [line for line in self.lines if line["step"] <= training.progress.step]

    def end(self, training: Training) -> None:
        if training.progress.ended in ("finished", "patience"):
            taken = training.checkpoint()
            # The network itself holds the weights, unless it ends with their average.
            model = taken.model if training.average is not None else {}
            self.standing = replace(taken, model=model, best=None)
