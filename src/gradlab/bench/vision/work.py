"""Generated pictures of CIFAR's shape, and one training on them. Importing this imports torch."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.bench.device import device_name, versions, wait
from gradlab.bench.laps import Clock, Laps, by_hand
from gradlab.bench.vision.speed import PADDING
from gradlab.bench.vision.usual_loop import Pictures, endless, usual_transform
from gradlab.bench.work import CLASSES, prototypes
from gradlab.data import Dataset, Examples
from gradlab.data.dataset import prepare
from gradlab.data.pictures.augmentation import Augmented, augmentations
from gradlab.data.raw import Raw
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.tasks import Classify
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema

_CHANNELS, _SIDE = 3, 32
_MIDDLE, _SPREAD = 128, 32  # of the bytes
_BLUR = 0.3  # of the classes: a few steps learn something
_RATE = 3e-3
_LONG = 10_000  # steps of the training that the default settings are chosen for


class VisionWork:
    """What is trained, on which pictures, where, and for how long."""

    def __init__(self, model: str, device: str, rows: int, batch: int, steps: int):
        self.model_name, self.place = model, torch.device(device)
        self.batch, self.steps = batch, steps
        values, self.targets = prototypes(rows, _CHANNELS, _SIDE, _BLUR)
        self.pictures = np.clip(_MIDDLE + _SPREAD * values, 0, 255).astype(np.uint8)

    @property
    def about(self) -> dict[str, str]:
        return {"device": device_name(self.place), "versions": versions("torchvision")}

    @property
    def half(self) -> bool:
        return self.place.type == "cuda"

    @cached_property
    def dataset(self) -> Dataset:
        raw = Raw(inputs=self.pictures, targets=self.targets, classes=[str(i) for i in range(CLASSES)])
        return prepare(raw, "classes", validation=0.0, test=0.0)

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        return build_model(Part(self.model_name), self.dataset.preprocessing.spec, CLASSES).to(self.place)

    def train(self, augment: dict[str, Any]) -> Examples:
        """On the device."""
        examples: Examples = self.dataset.train
        if augment:
            settings = augmentations.build(augmentations.resolve(Part("pictures", augment), "bench"))
            examples = Augmented.over(examples, settings, self.dataset.preprocessing, CLASSES)  # type: ignore[arg-type]
        return examples.to(self.place)

    def plan(self, steps: int) -> Plan:
        values: dict[str, Any] = {"batch_size": self.batch, "optimizer": "adam", "lr": _RATE, "steps": steps}
        precision = "bf16" if self.half else "float32"
        more = {"schedule": "constant", "keep": "last", "precision": precision, "log_every": max(1, self.steps // 2)}
        return Plan(**plan_schema.resolve(values | more, "bench"))

    def answer(self, clock: Clock, model: nn.Module, pictures: int) -> dict[str, Any]:
        row = clock.row(self.batch)
        row["pictures_per_second"] = row.pop("examples_per_second")
        cpu = 1e3 * (clock.cpu[1] - clock.cpu[0]) / (self.steps - self.steps // 2)
        weights = sum(p.numel() for p in model.parameters())
        return {**row, "cpu_milliseconds": cpu, "pictures": pictures, "parameters": weights}


def by_gradlab(work: VisionWork, augment: dict[str, Any]) -> dict[str, Any]:
    """As a recipe trains it, with what a training of many steps would choose."""
    model, train, task = work.model(), work.train(augment), Classify(work.dataset.targets)
    mode = driver.mode_of(model, train, work.plan(_LONG), driver.example_cost(model, task, train))
    _forget(work.place)
    clock = Clock(work.steps, work.place)
    with driver.training(model, task, train, None, work.plan(work.steps), mode=mode, observers=[Laps(clock)]) as run:
        steps = run.run().step
    return work.answer(clock, model, steps * work.batch)


def by_the_usual_loop(work: VisionWork, workers: bool) -> dict[str, Any]:
    """Transforms on the CPU, one picture at a time; mixed precision on a GPU."""
    model = work.model().train()
    values = work.pictures / np.float32(255)
    mean, std = (part((0, 2, 3)).tolist() for part in (values.mean, values.std))
    data = Pictures(np.moveaxis(work.pictures, 1, -1), work.targets, usual_transform(_SIDE, PADDING, mean, std))
    optimizer = torch.optim.Adam(model.parameters(), lr=_RATE)
    batches, seen = endless(data, work.batch, workers, work.place), 0

    def step() -> Tensor:
        nonlocal seen
        inputs, targets = next(batches)
        with torch.autocast(work.place.type, torch.bfloat16, enabled=work.half):
            loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        seen += len(targets)
        return loss

    _forget(work.place)
    clock = Clock(work.steps, work.place)
    by_hand(clock, step)
    return work.answer(clock, model, seen)


def _forget(place: torch.device) -> None:
    """The peak of the memory is that of the training that follows."""
    wait(place)
    if place.type == "cuda":
        torch.cuda.reset_peak_memory_stats(place)
