"""What all generative tasks have in common: a trained model draws examples like those it has seen."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.models.generative.pca import LARGEST, pca_gaussian
from gradlab.registry import Count
from gradlab.tasks.evaluation import device_of
from gradlab.tasks.generative.quality import DRAWS, MOST, Judge
from gradlab.tasks.task import Figures, Task

_FITTED = 20_000  # examples that tell enough of all
_WIDER = 8  # times as many samples are drawn together on a device, which takes hardly longer for them

Compared = Annotated[Count, "samples of the finished model that are compared with as many examples, ten times"]
Samples = Float[Tensor, "samples *shape"]
"""As the model sees its inputs: preprocessed."""
Noise = Float[Tensor, "samples *shape"]

_MOST_STEPS = 100_000  # of a sampler, a hundred times as many as diffusion models are trained with


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of samples beside their number. None leaves it to the task."""

    labels: Int64[Tensor, " samples"] | None = None
    """The class of each, for a model that was told them in training."""
    guidance: float | None = None
    """How much a class counts: 1 as trained, more for samples that are more typical of it."""
    steps: int | None = None
    """Of a sampler that takes many."""
    sampler: str | None = None
    """By name."""
    pixel_noise: bool = True
    """Whether numbers with normal noise around their means are sampled, or left at the means. With it, samples have the
    distribution of the model, which is what judges compare."""

    def part(self, start: int, stop: int) -> "Request":
        """The same for some of the samples."""
        return self if self.labels is None else replace(self, labels=self.labels[start:stop])


class Calls(NamedTuple):
    """How often the network is called for samples, and how many passes over whole examples that is."""

    number: int
    passes: int


@runtime_checkable
class Sampler(Protocol):
    """A model that draws by itself, whatever the task: baselines do."""

    def sample(self, count: int) -> Samples: ...


class Generative(Task):
    """Draws samples. A kind of its own writes `objectives`, and `from_noise` or `sample`."""

    use: ClassVar[str] = "generate"
    sections: ClassVar[tuple[str, ...]] = ("samples",)
    instead: ClassVar[str] = "draws examples and predicts nothing. Use gradlab generate {run}."

    finished_figures: ClassVar[tuple[str, ...]] = ("frechet", "precision", "recall", "sliced_wasserstein")
    at_once: ClassVar[int] = 256
    """How many samples are drawn together, so that any number of them takes no more memory."""

    judge: Judge | None = None
    """By what the samples of a finished model are judged: set by the training at its end, and by a run that has one."""

    compared: int = MOST
    """How many samples are compared with as many examples, ten times."""

    has_pixel_noise: bool = False
    """Whether the numbers of a sample have normal noise of their own (`Request.pixel_noise`)."""

    conditional: bool = False
    """Whether the model is told the class of an example."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets
        if not targets.drawable:
            raise GradlabError(
                "This task draws plain numbers alone, and this table has columns of categories, dates or missing "
                "numbers: `gradlab data show` says which. Leave them out: data.drop=COLUMN,COLUMN."
            )
        if self.conditional and targets.classes is None:
            raise GradlabError(
                "task.conditional=true needs examples with classes, and these have none. Leave it out, or give them "
                "some: pictures in a folder for each class are read with data=images."
            )

    # How samples are drawn. Random numbers are torch's own, which whoever calls has seeded.

    def noise(self, model: Any, count: int) -> Noise:
        """What samples are made of."""
        raise GradlabError(
            f"Samples of task={self.name} are not a function of noise: there is nothing to interpolate between. "
            "Leave out --interpolate."
        )

    def from_noise(self, model: Any, noise: Noise, request: Request) -> Samples:
        """What a model makes of noise; the same for the same noise, unless the sampler itself draws."""
        raise NotImplementedError

    def sample(self, model: Any, count: int, request: Request = Request()) -> Samples:
        """So many samples; a model that draws by itself does, where no class is asked for."""
        if isinstance(model, Sampler) and request.labels is None:
            return model.sample(count)
        return self.from_noise(model, self.noise(model, count), request)

    def trajectory(self, model: Any, count: int, request: Request = Request()) -> Iterator[Samples]:
        """The same samples from noise to end, step by step."""
        raise GradlabError(
            f"Samples of task={self.name} do not come from noise step by step: there is no trajectory to show. "
            "Leave out --trajectory."
        )

    def check_walk(self, request: Request) -> None:
        """Refuse ways between noises where samples are not the same each time."""

    def check_request(self, request: Request) -> None:
        """Refuse what this kind of model cannot do, before anything is drawn."""
        if request.labels is not None and not self.conditional:
            raise GradlabError("This model is not class-conditional, and cannot draw one class. Leave out --class.")
        if request.guidance is not None and "guidance" in self.options and not self.conditional:
            raise GradlabError("This model is not class-conditional, so that nothing guides it. Leave out --guidance.")
        for option, value in {"guidance": request.guidance, "steps": request.steps, "sampler": request.sampler}.items():
            if value is not None and option not in self.options:
                raise GradlabError(f"Samples of task={self.name} are drawn without --{option}: leave it out.")
        if request.steps is not None and request.steps < 1:
            raise GradlabError(f"--steps {request.steps}: samples are drawn in at least one step.")
        if request.steps is not None and request.steps > _MOST_STEPS:
            raise GradlabError(
                f"--steps {request.steps} is more than the {_MOST_STEPS:,} steps that a sampler may take."
            )
        if request.guidance is not None and not 0 <= request.guidance < math.inf:
            raise GradlabError(f"--guidance {request.guidance:g}: how much the class counts is a number from 0 on.")

    options: ClassVar[tuple[str, ...]] = ()
    """What of a request it knows beside the labels."""
    name: ClassVar[str] = ""

    def labels(self, model: nn.Module, count: int) -> Int64[Tensor, " samples"] | None:
        """Classes for samples where none are asked for: as often as in training."""
        if not self.conditional:
            return None
        shares = torch.tensor(self.targets.counts, dtype=torch.float, device=device_of(model))
        return torch.multinomial(shares, count, replacement=True)

    def calls(self, shape: Sequence[int]) -> Calls:
        """What samples of this shape take, however many are drawn together."""
        return Calls(1, 1)

    def draw(self, model: Any, count: int, request: Request = Request()) -> Samples:
        """Any number of samples, a few at a time."""
        self.check_request(request)
        most = self.at_once * (1 if device_of(model).type == "cpu" else _WIDER)
        sizes = [(start, min(start + most, count)) for start in range(0, count, most)]
        return torch.cat([self.draw_part(model, end - start, request.part(start, end))[0] for start, end in sizes])

    def draw_part(self, model: Any, count: int, request: Request) -> tuple[Samples, Int64[Tensor, " samples"] | None]:
        """As many as are drawn together, and their classes: a model that was told some is always asked for one."""
        if request.labels is None:
            request = replace(request, labels=self.labels(model, count))
        return self.sample(model, count, request), request.labels

    # How samples are judged, once a model is finished: too slow, and too seldom of use, to be asked for meanwhile.

    def final_figures(self, model: nn.Module, split: Any) -> Figures:
        """How like real examples its samples are, where there is a judge and examples enough."""
        if self.judge is None or not has_inputs(split):
            return {}
        drawn = self.judge.quality(lambda count: self.draw(model, count), split.inputs)
        both = drawn | self.judge.of_real(split.inputs)
        return dict(sorted(both.items(), key=lambda figure: figure[0].split("_")[0]))

    def evaluate_baseline(self, model: nn.Module, split: Any) -> Figures:
        """Its losses, if they are defined for it, and its samples, if it draws some."""
        figures = self.evaluate(model, split) if self.understands(model) else {}
        if self.judge is None or not isinstance(model, Sampler) or not has_inputs(split):
            return figures
        return figures | self.judge.quality(model.sample, split.inputs)

    def understands(self, model: nn.Module) -> bool:
        """Whether the losses are defined for a baseline; one that draws may know nothing else."""
        return not isinstance(model, Sampler)

    def baselines(self, train: Any, model: nn.Module) -> Mapping[str, nn.Module]:
        """A Gaussian along the principal axes of the training examples."""
        if not has_inputs(train) or math.prod(train.inputs.shape[1:]) > LARGEST:
            return {}
        return {"PCA + Gaussian": pca_gaussian(train.sample(_FITTED).inputs[:])}

    def higher_is_better(self, figure: str) -> bool:
        return figure in ("precision", "recall") or (
            figure not in self.finished_figures and super().higher_is_better(figure)
        )

    @property
    def all_signatures(self) -> Mapping[str, str]:
        return {**self.signatures, **({} if self.judge is None else self.judge.signatures)}

    def closing(self, model: nn.Module, splits: Mapping[str, Any]) -> dict[str, Any]:
        """By which features, and how many samples, the figures of each split are."""
        judge = self.judge
        if judge is None:
            return {}
        samples = {name: judge.count(len(split)) for name, split in splits.items() if has_inputs(split)}
        judged = {"features": judge.kind, "dimension": judge.dimension, "draws": DRAWS, "samples": samples}
        few = [
            f"Samples are not compared with {name} examples: {judge.missing(len(splits[name]))}."
            for name, count in samples.items()
            if not count
        ]
        return {"judged": judged, **({"notes": few} if few else {})}


def has_inputs(split: Any) -> bool:
    """Whether a split has examples that samples can be compared with."""
    return isinstance(split, Examples) and "inputs" in split.parts


def bits_per_dim(nats: float, shape: Sequence[int]) -> float:
    """Of one number of an example, by the nats of a whole one.

    >>> bits_per_dim(4 * math.log(2), (2, 2))
    1.0
    """
    return nats / (math.prod(shape) * math.log(2))
