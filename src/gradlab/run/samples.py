"""What the model of a generative run draws, in the units of its data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.data import Preparation, Preprocessing
from gradlab.errors import GradlabError, unknown
from gradlab.nn.modes import evaluating
from gradlab.tasks.evaluation import device_of, seeded
from gradlab.tasks.generative import Generative, Request
from gradlab.tasks.generative.interpolation import slerp

if TYPE_CHECKING:
    from gradlab.run.trained import TrainedRun

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Drawn:
    """Samples in raw units and, of a class-conditional model, the number of each one's class."""

    x: Array
    y: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is asked of samples; None leaves it to the task. The same seed draws the same samples."""

    class_name: str | None = None
    guidance: float | None = None
    steps: int | None = None
    sampler: str | None = None
    pixel_noise: bool = False
    """Samples of p(x | z) in place of its means, of a model whose decoder is Gaussian."""
    seed: int = 0


class Drawing:
    """A run that draws; refused where it does not, or not as it is wished."""

    def __init__(self, run: "TrainedRun", model: nn.Module, wish: Wish) -> None:
        if not isinstance(run.task, Generative):
            raise GradlabError(f"{run.path} draws no examples: its task is {run.recipe.task.name}.")
        if wish.seed < 0:
            raise GradlabError(f"--seed {wish.seed}: a seed is a whole number from 0 on.")
        if wish.pixel_noise and not run.task.has_pixel_noise:
            raise GradlabError(
                f"{run.path} has no decoder with normal noise (task.decoder=gaussian), which could be sampled. Leave "
                "out --pixel-noise."
            )
        self.run, self.task, self.model, self.wish = run, run.task, model, wish
        self.task.check_request(self.request(1))

    def request(self, count: int) -> Request:
        """For so many samples."""
        wish, labels = self.wish, None
        if wish.class_name is not None:
            labels = torch.full((count,), self._class(wish.class_name), device=device_of(self.model))
        options: dict[str, Any] = {"guidance": wish.guidance, "steps": wish.steps, "sampler": wish.sampler}
        return Request(labels=labels, pixel_noise=wish.pixel_noise, **options)

    def _labelled(self, count: int) -> Request:
        """The same, with classes as often as in training where none is asked for."""
        request = self.request(count)
        return request if request.labels is not None else replace(request, labels=self.task.labels(self.model, count))

    def _class(self, name: str) -> int:
        classes = self.task.targets.classes
        if not self.task.conditional or classes is None:
            raise GradlabError(
                f"{self.run.path} is not class-conditional (task.conditional), and cannot draw one class. "
                "Leave out --class."
            )
        if name not in classes:
            raise unknown("class", name, classes)
        return classes.index(name)

    def parts(self, count: int) -> Iterator[Drawn]:
        """So many samples, a few at a time. Each part is drawn from a seed of its own."""
        if count < 1:
            raise GradlabError(f"{count} samples cannot be drawn: ask for at least 1.")
        for start in range(0, count, self.task.at_once):
            size = min(self.task.at_once, count - start)
            with _drawing(self.model, self.wish.seed, start):
                samples, labels = self.task.draw_part(self.model, size, self.request(size))
            yield Drawn(self.raw(samples), None if labels is None else labels.cpu().numpy())

    def whole(self, count: int) -> Drawn:
        parts = list(self.parts(count))
        labels = [part.y for part in parts if part.y is not None]
        return Drawn(np.concatenate([part.x for part in parts]), np.concatenate(labels) if labels else None)

    def ways(self, count: int, steps: int) -> Array:
        """Samples (count, steps, …) along spherical ways between two noises each; one class on each way."""
        if self.wish.pixel_noise:
            raise GradlabError("Between two noises of the code, samples are means. Leave out --pixel-noise.")
        self.task.check_walk(self.request(1))
        with _drawing(self.model, self.wish.seed, 0):
            first, second = self.task.noise(self.model, 2 * count).chunk(2)
            noise = slerp(first, second, torch.linspace(0, 1, steps))
            labels = self._labelled(count).labels
            rows = [self._way(way, None if labels is None else labels[row]) for row, way in enumerate(noise)]
        return np.stack(rows)

    def _way(self, noise: Tensor, label: Tensor | None) -> Array:
        request = replace(self.request(1), labels=None if label is None else label.expand(len(noise)))
        return self.raw(self.task.from_noise(self.model, noise, request))

    def stages(self, count: int, most: int) -> Array:
        """The same samples (stages, count, …) from noise to end, at so many stages at most."""
        parts = []
        for start in range(0, count, self.task.at_once):
            size = min(self.task.at_once, count - start)
            with _drawing(self.model, self.wish.seed, start):
                kept = thinned(self.task.trajectory(self.model, size, self._labelled(size)), most)
            parts.append(np.stack([self.raw(samples) for samples in kept]))
        return np.concatenate(parts, axis=1)

    def raw(self, samples: Tensor) -> Array:
        """In the units of the data."""
        if not samples.isfinite().all():
            raise GradlabError(f"The model of {self.run.path} draws what is no number: its training has failed.")
        return in_raw_units(self.run.preprocessing, samples)

    def prepared(self, count: int) -> Tensor:
        """The first samples, as the model sees examples."""
        size = min(count, self.task.at_once)
        with _drawing(self.model, self.wish.seed, 0):
            return self.task.draw_part(self.model, size, self.request(size))[0]


def in_raw_units(preparation: Preparation, examples: Tensor) -> Array:
    """Prepared examples in the units of the data; data that came ready have no others."""
    if isinstance(preparation, Preprocessing):
        return preparation.inverse(examples)
    return examples.detach().cpu().double().numpy()


@contextmanager
def _drawing(model: nn.Module, seed: int, start: int) -> Iterator[None]:
    """Without gradients, in evaluation mode, from a seed for the samples from some number on."""
    number = int(np.random.SeedSequence([seed, start]).generate_state(1)[0])
    with seeded(device_of(model), number), torch.no_grad(), evaluating(model):
        yield


def thinned(values: Iterator[Tensor], most: int) -> list[Tensor]:
    """The first, the last, and evenly between them as many as wanted, of values whose number nobody knows.

    >>> [int(t) for t in thinned((torch.tensor(i) for i in range(11)), 3)]
    [0, 5, 10]
    """
    kept, every, last = list[Tensor](), 1, None
    for number, last in enumerate(values):
        if number % every == 0:
            kept.append(last)
        if len(kept) > 4 * most:  # then every second is enough
            kept, every = kept[::2], 2 * every
    if last is None:
        return []
    if kept[-1] is not last:
        kept.append(last)
    places = np.linspace(0, len(kept) - 1, min(most, len(kept))).round().astype(int)
    return [kept[place] for place in places]
