"""The lottery-ticket hypothesis on a recipe: does a pruned network that is rewound learn better than one drawn anew?"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from gradlab.errors import GradlabError
from gradlab.markup import Html
from gradlab.recipe import Recipe
from gradlab.run import Run, open_run
from gradlab.run.start import Start
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy, figure_rows
from gradlab.studies.members import MOST, Member, Notify, Planned, train_members
from gradlab.studies.pages import tickets as pages
from gradlab.studies.pruning import check_keep, check_rounds, shares_of
from gradlab.studies.spread import Spread
from gradlab.training.observers import Observer
from gradlab.training.pruning import Pruner
from gradlab.wording import counted, name_of, percent

Way = Literal["dense", "ticket", "reinit"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way of training at one share of the weights: a figure of each seed, and their spread."""

    way: Way
    kept: float
    values: list[float]

    @property
    def spread(self) -> Spread:
        return Spread.of(self.values)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tickets(InlineStudy):
    """What dense networks, winning tickets and the same masks over other first weights gave."""

    recipe: str
    of: str
    path: Path
    split: str
    metric: str
    higher_is_better: bool
    seeds: list[int]
    shares: list[float]
    members: list[Member]

    def _facts(self) -> list[str]:
        return [self.recipe, counted(len(self.seeds), "seed"), self.verdict]

    def _content(self) -> list[Html]:
        rows = [(row.way, percent(row.kept), row.spread.words) for row in self.rows]
        return [figure_rows(["", "share of the weights", f"{self.split} {name_of(self.metric)}"], rows)]

    def row(self, way: Way, kept: float) -> Row:
        members = [m for m in self.members if m.changes["way"] == way and m.changes["kept"] == kept]
        return Row(way=way, kept=kept, values=[m.figures(self.split)[self.metric] for m in members])

    @property
    def rows(self) -> list[Row]:
        """The dense networks, then tickets and controls from the most weights to the fewest."""
        pruned: list[tuple[Way, float]] = [(way, kept) for kept in self.shares for way in ("ticket", "reinit")]
        return [self.row("dense", 1.0), *(self.row(way, kept) for way, kept in pruned)]

    def gain(self, kept: float) -> Spread:
        """How much better tickets are than their controls, with the same seed and mask; negative if they are worse."""
        pairs = zip(self.row("ticket", kept).values, self.row("reinit", kept).values, strict=True)
        return Spread.of([(mine - other) * (1 if self.higher_is_better else -1) for mine, other in pairs])

    @property
    def verdict(self) -> str:
        """Where tickets and controls differ by more than chance would have it."""
        apart = {kept: self._apart(kept) for kept in self.shares}
        shares = {word: [kept for kept in self.shares if apart[kept] == word] for word in ("better", "worse")}
        words = [f"{word} than their controls at {_listed(at)} of the weights" for word, at in shares.items() if at]
        basis = f"by 95% intervals of the gain over {len(self.seeds)} seeds, of {len(self.shares)} shares compared"
        if not words:
            return f"Tickets and controls cannot be distinguished, {basis}."
        return f"Tickets are {' and '.join(words)}, {basis}."

    def _apart(self, kept: float) -> str:
        """Whether the interval of Student's t about the gain leaves out 0, and on which side."""
        from scipy.special import stdtrit  # type: ignore[import-untyped]

        gain = self.gain(kept)
        if abs(gain.mean) <= stdtrit(len(self.seeds) - 1, 0.975) * (gain.standard_error or 0.0):
            return ""
        return "better" if gain.mean > 0 else "worse"

    @property
    def smallest(self) -> str:
        """The name of the first of the smallest tickets."""
        return next(
            m.name for m in self.members if m.changes["way"] == "ticket" and m.changes["kept"] == self.shares[-1]
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "tickets",
            "out": str(self.path),
            "of": self.of,
            "recipe": self.recipe,
            "split": self.split,
            "metric": self.metric,
            "seeds": self.seeds,
            "rows": [{**asdict(row), **asdict(row.spread)} for row in self.rows],
            "gains": [{"kept": kept, **asdict(self.gain(kept))} for kept in self.shares],
            "verdict": self.verdict,
            "members": [asdict(member) for member in self.members],
        }


def find_tickets(
    run: Run,
    keep: float,
    out: Path,
    device: torch.device,
    *,
    rounds: int = 5,
    seeds: int = 5,
    per_layer: bool = False,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
) -> Tickets:
    """With each seed, train densely, prune and rewind in rounds down to `keep`, and train each mask from other weights.

    A ticket is what is left after a round, with the first weights of its own network; its control has the same mask
    and first weights of another seed. Frankle & Carbin 2019, arXiv:1803.03635.
    """
    check_keep(keep)
    check_rounds(rounds)
    _check_seeds(keep, rounds, seeds)
    pruner = Pruner.of(run, device)
    recipe, task = pruner.experiment.recipe, pruner.experiment.task
    if run.start is not None:
        raise GradlabError(f"{run.path} is pruned already. Name the run that it was made of: {run.start.pruning['of']}")
    if not run.test and not run.validation:
        raise GradlabError("There is nothing to judge by: hold out some examples by data.test or data.validation.")
    shares, first = shares_of(keep, rounds), pruner.experiment.plan.seed
    if not out.exists():
        # What would fail is refused before there is a folder: later rounds too, where sizes of layers alone decide.
        pruner.start(keep if per_layer else shares[0], per_layer=per_layer)
    wanted = {"study": "tickets", "of": str(run.path), "keep": keep, "rounds": rounds, "seeds": seeds}
    folder = StudyFolder.open(out, {**wanted, "by": "layer" if per_layer else "global", "recipe": plain_recipe(recipe)})

    numbers = list(range(first, first + seeds))
    every = [
        _Series(path=out, seed=seed, recipe=recipe, shares=shares, per_layer=per_layer, device=device)
        for seed in numbers
    ]
    members = train_members(
        folder, [one for series in every for one in series.planned()], device, observers, notify, reports=False
    )
    result = Tickets(
        recipe=recipe.name,
        of=str(run.path),
        path=out,
        split="test" if run.test else "validation",
        metric=task.headline,
        higher_is_better=task.higher_is_better(task.headline),
        seeds=numbers,
        shares=shares,
        members=members,
    )
    folder.finish(result.to_json(), pages.report(result))
    return result


@dataclass(frozen=True, kw_only=True)
class _Series:
    """The trainings of one seed, each of which begins with what those before it have left."""

    path: Path
    seed: int
    recipe: Recipe
    shares: list[float]
    per_layer: bool
    device: torch.device

    def planned(self) -> list[Planned]:
        every = [self._planned("dense", 0, None)]
        for number in range(1, len(self.shares) + 1):
            every.append(self._planned("ticket", number, self.ticket))
            every.append(self._planned("reinit", number, self.control))
        return every

    def _planned(self, way: Way, number: int, start: Callable[[int], Start] | None) -> Planned:
        kept = self.shares[number - 1] if number else 1.0
        return Planned(
            name=self.name(way, number),
            changes={"train.seed": self.seed, "way": way, "round": number, "kept": kept},
            recipe=self.recipe.override({"train.seed": self.seed}),
            start=start and partial(start, number),
        )

    def name(self, way: Way, number: int) -> str:
        return f"seed-{self.seed}-{way}-{number}" if number else f"seed-{self.seed}-dense"

    def ticket(self, number: int) -> Start:
        before = self.path / self.name("ticket", number - 1)
        return Pruner.of(open_run(before), self.device).start(
            self.shares[number - 1], "rewind", per_layer=self.per_layer
        )

    def control(self, number: int) -> Start:
        return Pruner.of(open_run(self.path / self.name("ticket", number)), self.device).reinitialised()


def _listed(shares: Sequence[float]) -> str:
    return " and ".join(map(percent, shares))


def _check_seeds(keep: float, rounds: int, seeds: int) -> None:
    if keep == 1:
        raise GradlabError("--keep 1 prunes nothing, so that there is no ticket. Keep less, such as 0.2.")
    if seeds < 2:
        raise GradlabError(f"--seeds {seeds} is too few: one seed has no spread. Take two or more, such as --seeds 5.")
    count = seeds * (1 + 2 * rounds)
    if count > MOST:
        raise GradlabError(
            f"--seeds {seeds} --rounds {rounds} would be {count:,} trainings, and {MOST} are the most of one study."
        )
