"""How good the samples of a diffusion run are, by sampler and number of steps. Importing this imports torch."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gradlab.bench.arena import Progress
from gradlab.bench.device import device_name, versions, wait
from gradlab.errors import GradlabError
from gradlab.run import Run
from gradlab.run.samples import Array, Drawing, in_raw_units
from gradlab.tasks import Classify, Diffusion
from gradlab.tasks.evaluation import device_of, in_evaluation
from gradlab.tasks.generative import Request
from gradlab.tasks.generative.coverage import NEIGHBOURS
from gradlab.tasks.generative.features import WORDS
from gradlab.tasks.generative.quality import DRAWS
from gradlab.training.environment import find_device
from gradlab.wording import counted

_FEWER = (("ddim", 50), ("dpm", 50), ("dpm", 20), ("dpm", 10))
"""Samplers and their steps, beside DDPM with all steps of the noise."""


@dataclass(frozen=True, kw_only=True)
class QualityRow:
    """Samples of one sampler, or real examples, which lack some of the figures."""

    title: str
    frechet: float
    frechet_se: float
    """The standard error of the mean over draws."""
    precision: float | None = None
    recall: float | None = None
    recognised: float | None = None
    """The share of which a classifier says the class that was asked for, or the true one of real examples."""
    seconds: float | None = None
    """In which all samples were drawn."""


@dataclass(frozen=True, kw_only=True)
class DiffusionQuality:
    """All samplers of one run."""

    run: str
    classifier: str | None
    features: str
    dimension: int
    draws: int
    samples: int
    """Of each draw, beside as many test examples."""
    guidance: float
    device: str
    versions: str
    rows: list[QualityRow]
    """The last has test examples beside training examples: what a perfect model would have."""
    fast: str
    slow: str
    no_worse: bool
    """Whether the distance of the fast sampler is at most two standard errors above that of the slow one."""


class SampleQuality:
    """A finished diffusion run, and perhaps a classifier; refused before anything is drawn if they do not fit."""

    def __init__(self, run: Run, classifier: Run | None = None, samples: int | None = None):
        if not isinstance(run.task, Diffusion):
            raise GradlabError(
                f"{run.path} is no diffusion: it learned task={run.recipe.task.name}. "
                "Name a run of a recipe such as digits-diffusion."
            )
        run.with_judge(run.task)
        if (judge := run.task.judge) is None:
            raise GradlabError(f"{run.path} has no features to judge samples by: they are made when it is finished.")
        self.run, self.task, self.classifier = run, run.task, classifier
        self.judge = judge if samples is None else replace(judge, most=samples)
        self.test = run.examples("test")
        self.inputs: Tensor = self.test.inputs[:]
        self.count = self.judge.count(len(self.inputs))
        if not self.count:
            few, least = min(len(self.inputs), self.judge.most), max(judge.dimension, NEIGHBOURS) + 1
            raise GradlabError(
                f"{few:,} samples beside as many test examples of {run.path} are too few to judge by: by its features "
                f"at least {least:,} are needed."
            )
        if classifier is not None:
            _check_classifier(classifier, run, self.inputs[:1])

    def measure(self, progress: Progress, device: str = "cpu") -> DiffusionQuality:
        """Sampler by sampler, all from the same noise for the same classes."""
        if find_device(device).type == "cuda":
            torch.cuda.init()  # type: ignore[no-untyped-call]  # where models of runs are at work from then on
        progress("judging real examples")
        real, rows = self._real(), list[QualityRow]()
        with self.run.drawing() as drawing:
            for sampler, steps in samplers(self.task.steps):
                title = f"{sampler}, {counted(steps, 'step')}"
                progress(f"{title}: drawing {DRAWS * self.count:,} samples")
                rows.append(self._row(drawing, title, Request(sampler=sampler, steps=steps)))
            place = device_of(drawing.model)
        slow, fast = (next(row for row in rows if row.title.startswith(name)) for name in ("ddpm", "dpm"))
        return DiffusionQuality(
            run=str(self.run.path),
            classifier=None if self.classifier is None else str(self.classifier.path),
            features=WORDS[self.judge.kind],
            dimension=self.judge.dimension,
            draws=DRAWS,
            samples=self.count,
            guidance=self.task.guidance,
            device=device_name(place),
            versions=versions(),
            rows=[*rows, real],
            fast=fast.title,
            slow=slow.title,
            no_worse=no_worse(fast, slow),
        )

    def _row(self, drawing: Drawing, title: str, request: Request) -> QualityRow:
        place = device_of(drawing.model)
        labels = self._labels()
        with in_evaluation(drawing.model):
            wait(place)
            began = time.perf_counter()
            samples = self.task.draw(drawing.model, DRAWS * self.count, replace(request, labels=labels))
            wait(place)
            seconds = time.perf_counter() - began
            raw = drawing.raw(samples)
            figures = self.judge.quality(lambda _: samples, self.inputs)
        kept = {name: figures[name] for name in ("frechet", "frechet_se", "precision", "recall")}
        recognised = None if labels is None else self._recognised(raw, labels)
        return QualityRow(title=title, seconds=seconds, recognised=recognised, **kept)

    def _real(self) -> QualityRow:
        figures = self.judge.of_real(self.inputs)
        raw = in_raw_units(self.run.preprocessing, self.inputs)
        recognised = self._recognised(raw, self.test.targets[:]) if self.task.conditional else None
        distance, error = figures["frechet_real"], figures["frechet_real_se"]
        return QualityRow(title="real examples", frechet=distance, frechet_se=error, recognised=recognised)

    def _labels(self) -> Tensor | None:
        """Classes in equal numbers over all draws; those of one vary as those of real examples do."""
        if not self.task.conditional:
            return None
        order = torch.randperm(DRAWS * self.count, generator=torch.Generator().manual_seed(0))
        return order % self.task.outputs

    def _recognised(self, raw: Array, labels: Tensor) -> float | None:
        """In raw units, which the classifier prepares as it did its own examples."""
        if self.classifier is None:
            return None
        wanted = np.array(self.task.targets.classes)[labels.cpu().numpy()]
        return float((self.classifier.predict(raw) == wanted).mean())


def samplers(chain: int) -> list[tuple[str, int]]:
    """With no more steps than the noise has, each once.

    >>> samplers(20)
    [('ddpm', 20), ('ddim', 20), ('dpm', 20), ('dpm', 10)]
    """
    fewer = [(name, min(steps, chain)) for name, steps in _FEWER]
    return list(dict.fromkeys([("ddpm", chain), *fewer]))


def no_worse(one: QualityRow, other: QualityRow) -> bool:
    """By the standard error of the difference of two means.

    >>> slow, fast = (QualityRow(title="", frechet=d, frechet_se=0.3) for d in (2.0, 2.8))
    >>> no_worse(fast, slow), no_worse(slow, fast)  # two standard errors are 0.85
    (True, True)
    """
    return one.frechet - other.frechet <= 2 * math.hypot(one.frechet_se, other.frechet_se)


def _check_classifier(classifier: Run, run: Run, example: Tensor) -> None:
    if not isinstance(classifier.task, Classify):
        raise GradlabError(
            f"--classifier {classifier.path} is no classifier: it learned task={classifier.recipe.task.name}."
        )
    if not isinstance(run.task, Diffusion) or not run.task.conditional:
        raise GradlabError(
            f"{run.path} is not class-conditional (task.conditional=false), so that there is no class to "
            "recognise. Leave out --classifier."
        )
    known, wanted = classifier.task.classes, run.task.targets.classes or []
    if set(known) != set(wanted):
        raise GradlabError(
            f"--classifier {classifier.path} knows other classes than {run.path} draws: {_listed(known)}, not "
            f"{_listed(wanted)}."
        )
    try:
        classifier.predict(in_raw_units(run.preprocessing, example))
    except GradlabError as error:
        raise GradlabError(f"--classifier {classifier.path} cannot read what {run.path} draws: {error}") from None


def _listed(classes: Sequence[str]) -> str:
    """
    >>> _listed("abcdefghijklm")
    'a, b, c, d, e, f, g, h, i, j and 3 more'
    """
    more = f" and {len(classes) - 10} more" if len(classes) > 10 else ""
    return ", ".join(classes[:10]) + more
