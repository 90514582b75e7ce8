"""What a generative model draws at moments of its training, so that a person sees it learn."""

import math
from dataclasses import replace
from pathlib import Path

import torch

from gradlab import parallel
from gradlab.data import Preparation
from gradlab.errors import GradlabError
from gradlab.run.sample_files import drop_samples, samples_file, write_samples
from gradlab.run.samples import Drawn, in_raw_units
from gradlab.tasks.evaluation import device_of, in_evaluation
from gradlab.tasks.generative import Generative, Request
from gradlab.tasks.generative.generative import has_inputs
from gradlab.training.loop import Training
from gradlab.training.observers import Observer

_MOMENTS = 8  # at most, before the first step and after the last among them
_PICTURES, _POINTS = 10, 128  # a point alone says little
_SHARE = 0.05  # of a training, which drawing may take
# In steps: a pass forward is a third of the work of one; the operations of a call are launched for however few samples,
# which counts for more beside steps that are recorded.
_FORWARD, _LAUNCHING, _BESIDE_RECORDED = 1 / 3, 1 / 16, 1 / 4


class SampleLog(Observer):
    """samples/: the same few samples, of the same random numbers, by the weights that an evaluation would judge.

    They are drawn between steps, and the random numbers of the training go on as if nothing had been drawn. A training
    that is resumed draws again what it had drawn after the step that it goes on from.
    """

    def __init__(self, folder: Path, task: Generative, preparation: Preparation):
        self.folder, self.task, self.preparation = folder, task, preparation
        self.count = 0
        self.moments: list[int] = []

    def start(self, training: Training) -> None:
        drop_samples(self.folder, training.progress.step or -1)  # at step 0 nothing has been kept
        if not has_inputs(training.train):
            return
        shape = training.train.inputs.shape[1:]
        self.count = _POINTS if len(shape) == 1 else _PICTURES
        launching = _BESIDE_RECORDED if "graph" in training.mode else _LAUNCHING
        calls = self.task.calls(shape)
        draw = launching * calls.number + _FORWARD * calls.passes * self.count / training.stream.batch_size
        draws = int(_SHARE * training.total_steps / draw)
        self.moments = moments(training.total_steps, min(draws, _MOMENTS))
        if self.moments and training.progress.step == 0:
            self._draw(training)
        self._wait_for_next(training)

    def step(self, training: Training) -> None:
        self._draw(training)
        self._wait_for_next(training)

    def rewind(self, training: Training) -> None:
        self.start(training)

    def end(self, training: Training) -> None:
        if self.moments and training.progress.ended == "patience":  # else the last moment has been
            self._draw(training)

    def _wait_for_next(self, training: Training) -> None:
        self.every = next((moment for moment in self.moments if moment > training.progress.step), None)

    def _draw(self, training: Training) -> None:
        step = training.progress.step
        if samples_file(self.folder, step).exists():
            return
        try:
            drawn = self._drawn(training)
        except (GradlabError, NotImplementedError):  # a model that draws nothing, or nothing in raw units
            return
        write_samples(self.folder, step, drawn)

    def _drawn(self, training: Training) -> Drawn:
        model, request = training.model, Request(pixel_noise=False)  # as `generate` shows them
        if self.task.conditional:  # one class after the other, as often as there is room
            classes = len(self.task.targets.classes or [])
            request = replace(request, labels=torch.arange(self.count, device=device_of(model)) % classes)
        with parallel.alone(), training.evaluated_weights(), in_evaluation(model):
            samples, labels = self.task.draw_part(model, self.count, request)
        return Drawn(in_raw_units(self.preparation, samples), None if labels is None else labels.cpu().numpy())


def moments(steps: int, most: int) -> list[int]:
    """Numbers of steps, each twice the one before, between the first weights and the last; none if they are not two.

    A model learns most at first: even moments would show the same picture again and again.

    >>> moments(400, 8)
    [0, 7, 14, 28, 56, 112, 224, 400]
    >>> moments(400, 3), moments(400, 1)
    ([0, 200, 400], [])
    """
    if most < 2:
        return []
    first = math.ceil(steps / 2 ** (most - 2))
    doubled = (first * 2**power for power in range(most - 2))
    return [0, *(step for step in doubled if step < steps), steps]
