"""The learning curve: how much better the same recipe gets with more examples to learn from."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from gradlab.data import sources
from gradlab.errors import GradlabError
from gradlab.inline import TRAIN, VALIDATION, charts, line_chart
from gradlab.markup import Html
from gradlab.recipe import Recipe
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy, figure_rows, split_names
from gradlab.studies.members import Member, Notify, Planned, train_members
from gradlab.studies.pages import learning_curve as pages
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer
from gradlab.wording import counted, name_of, number

_POINTS = 6
_SPAN = 32  # times as many examples at the right end as at the left
_FEWEST = 4


@dataclass(frozen=True, kw_only=True, repr=False)
class LearningCurve(InlineStudy):
    """What each number of training examples gave, fewest first."""

    recipe: str
    path: Path
    metric: str
    higher_is_better: bool
    points: list[Member]

    def _facts(self) -> list[str]:
        last = self.points[-1].figures(self.held_out).get(self.metric)
        end = f"{self.held_out} {name_of(self.metric)} {number(last)} with all examples"
        return [self.recipe, counted(len(self.points), "point"), end]

    def _content(self) -> list[Html]:
        sizes = [point.examples for point in self.points]
        splits = ("train", self.held_out)
        losses = {s: (sizes, [point.figures(s).get("loss", math.nan) for point in self.points]) for s in splits}
        rows = [(p.examples, *(p.figures(split).get(self.metric) for split in splits)) for p in self.points]
        chart = line_chart("loss", losses, x="examples", colors=(TRAIN, VALIDATION))
        return [charts(chart), figure_rows(["examples", *split_names(splits, self.metric)], rows)]

    @property
    def held_out(self) -> str:
        """The split that stands for unseen examples: validation, or test where there is none."""
        return "validation" if self.points[-1].validation else "test"

    @property
    def verdict(self) -> str:
        """What the right end of the curve says about more data."""
        before, last = (point.figures(self.held_out).get("loss", math.nan) for point in self.points[-2:])
        gap = last - self.points[-1].train.get("loss", math.nan)
        if before - last > 0.05 * abs(before) and gap > 0:
            return "The held-out loss is still falling at the right end: more examples would help."
        return "The held-out loss hardly falls any more at the right end: more examples alone would help little."

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "curve",
            "out": str(self.path),
            "recipe": self.recipe,
            "metric": self.metric,
            "verdict": self.verdict,
            "points": [asdict(point) for point in self.points],
        }


def learning_curve(
    recipe: Recipe,
    out: Path,
    device: torch.device,
    *,
    sizes: Sequence[int] | None = None,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
) -> LearningCurve:
    """Train the recipe on growing shares of its training split, by `data.limit`, into `out`/examples-N.

    All of them make as many updates as the whole split would, so that only the data differ and not the patience.
    """
    if "limit" not in sources.schema(recipe.data.name).knobs:
        raise GradlabError(
            f"data={recipe.data.name} has no key `limit`, by which a learning curve takes more and more examples."
        )
    whole = Experiment.of(recipe, device)
    examples = len(whole.dataset.train)
    classes = len(whole.dataset.targets.classes or [])
    sizes = sizes or curve_sizes(examples, 2 * classes)
    same = {"train.steps": whole.steps, "train.evaluate_every": whole.evaluation_interval}
    members = [
        Planned.of(f"examples-{size}", recipe, {"data.limit": size, **same} if size < examples else {})
        for size in sizes
    ]
    Experiment.of(members[0].recipe, device)  # what would fail is refused before there is a folder
    wanted = {"study": "curve", "sizes": list(sizes), "recipe": plain_recipe(resolve(recipe))}
    folder = StudyFolder.open(out, wanted)
    metric = whole.task.headline
    result = LearningCurve(
        recipe=recipe.name,
        path=out,
        metric=metric,
        higher_is_better=whole.task.higher_is_better(metric),
        points=train_members(folder, members, device, observers, notify, may_diverge=True),
    )
    folder.finish(result.to_json(), pages.report(result))
    return result


def curve_sizes(examples: int, least: int = 0) -> list[int]:
    """Evenly spaced in the logarithm, up to all; at least two for each class where there are enough.

    >>> curve_sizes(1222, least=20), curve_sizes(10)
    ([38, 76, 152, 305, 610, 1222], [4, 5, 6, 7, 8, 10])
    """
    fewest = min(examples, max(examples // _SPAN, least, _FEWEST))
    ratio = examples / fewest
    return sorted({round(fewest * ratio ** (i / (_POINTS - 1))) for i in range(_POINTS)})
