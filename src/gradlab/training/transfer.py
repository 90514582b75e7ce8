"""A training that starts from the weights of a finished run: what a trunk has learned, under a new head."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.data import Dataset, Preparation, Raw, Targets
from gradlab.data.preprocessing import Preprocessing
from gradlab.errors import GradlabError
from gradlab.files.sums import sha256
from gradlab.models import EncoderClassifier
from gradlab.models.seq2seq import EncoderDecoderModel, RegionEncoder
from gradlab.printable import listed
from gradlab.recipe import FIT, Recipe
from gradlab.run import Run, open_run
from gradlab.run.checkpoint import newest_sound
from gradlab.specs import Array
from gradlab.tasks import wants
from gradlab.tasks.objective import begins
from gradlab.training.frozen import TRUNK, check_head
from gradlab.training.plan import Plan
from gradlab.wording import number

_SAMPLE = 512  # training examples whose scale is looked at
_ALIKE = 3.0  # times as large or as small as the inputs that the weights know


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A finished run of a classifier, or of a model with an encoder, and the weights that it ended with."""

    run: Run
    weights: dict[str, Tensor]
    sha256: str

    @classmethod
    def of(cls, plan: Plan) -> "Origin":
        """The run that a plan names; refused if it is none, not finished, of no use, or not the one it was."""
        assert plan.from_run is not None
        run = open_run(plan.from_run)
        if run.recipe.data.name == FIT:
            raise GradlabError(f"{run.path} was made by gradlab.fit: take the run of a recipe.")
        assert run.finished
        newest = run.newest_checkpoint()
        if run.targets.classes is None and not (isinstance(run.preprocessing.spec, Array) and _encoder(newest.chosen)):
            raise GradlabError(
                f"{run.path} is no classifier: it learned task={run.recipe.task.name}. Weights are taken from "
                "classifiers and from models with an encoder."
            )
        file = run.checkpoints / newest.chosen_file
        digest = sha256(file)
        if plan.from_sha256 not in (None, digest):
            raise GradlabError(
                f"The weights of {run.path} are not those of train.from_sha256: {file} has changed. Bring them back, "
                "or start from those of now: train.from_sha256=none."
            )
        return cls(run=run, weights=newest.chosen, sha256=digest)

    def check_data(self, dataset: Dataset) -> Dataset:
        """The same data, refused where their columns have other categories; noted if they are of another scale."""
        raw = dataset.raw
        if isinstance(raw, Raw):
            _check_categories(self.run, raw)
            raw = raw.noted(_notes_on_scale(self.run, dataset))
        return replace(dataset, raw=raw)

    def give(self, recipe: Recipe, model: nn.Module, targets: Targets, outputs: int) -> Recipe:
        """Set the weights of a fresh model, but for a new head; the recipe then says what was taken from where."""
        if isinstance(model, EncoderDecoderModel) and isinstance(model.encoder, RegionEncoder):
            return self._give_trunk(recipe, model.encoder.trunk)
        if isinstance(model, EncoderClassifier) and self.run.recipe.model.name != recipe.model.name:
            return self._give_encoder(recipe, model.encoder)
        head = check_head(model, outputs)
        known = recipe.task.name == self.run.recipe.task.name and targets.classes == self.run.targets.classes
        chosen = recipe.train["new_head"]
        new = not known if chosen is None else chosen
        fresh = model.state_dict()
        left_out = [name for name in {**fresh, **self.weights} if new and begins(name, head)]
        taken = {name: weight for name, weight in self.weights.items() if name not in left_out}
        self._check_fit(taken, {name: weight for name, weight in fresh.items() if name not in left_out}, recipe)
        model.load_state_dict({**fresh, **taken})
        return replace(recipe, train={**recipe.train, "from_sha256": self.sha256, "new_head": new})

    def _give_trunk(self, recipe: Recipe, trunk: nn.Module) -> Recipe:
        """The same for the layers of a network of pictures that look at them for another model."""
        layers = {name for name, _ in trunk.named_children()}
        taken = {name: weight for name, weight in self.weights.items() if name.split(".")[0] in layers}
        self._check_fit(taken, trunk.state_dict(), recipe)
        trunk.load_state_dict(taken)
        return replace(recipe, train={**recipe.train, "from_sha256": self.sha256, "new_head": True})

    def _give_encoder(self, recipe: Recipe, encoder: nn.Module) -> Recipe:
        """The same for the encoder of an autoencoder or its kin, under a classifier's new head."""
        taken = _encoder(self.weights)
        if not taken:
            raise GradlabError(
                f"{self.run.path} has no encoder to take: its model is {self.run.recipe.model.name}. Take a run of "
                f"model.of={recipe.model.values['of'].name}."
            )
        self._check_fit(taken, encoder.state_dict(), recipe)
        encoder.load_state_dict(taken)
        return replace(recipe, train={**recipe.train, "from_sha256": self.sha256, "new_head": True})

    def _check_fit(self, taken: dict[str, Tensor], fresh: dict[str, Tensor], recipe: Recipe) -> None:
        differ = [
            f"{name} ({_shape(taken[name])} there, {_shape(weight)} here)"
            for name, weight in fresh.items()
            if name in taken and taken[name].shape != weight.shape
        ]
        wrong = {
            "Not in that run": [name for name in fresh if name not in taken],
            "Only in that run": [name for name in taken if name not in fresh],
            "Of another shape": differ,
        }
        if any(wrong.values()):
            reasons = " ".join(f"{words}: {listed(names)}." for words, names in wrong.items() if names)
            raise GradlabError(
                f"The weights of {self.run.path} do not fit model={recipe.model.name} on these data. {reasons} Take "
                f"{self._fitting}, as its recipe.toml has it."
            )

    @property
    def _fitting(self) -> str:
        """The model that the weights fit, in words."""
        name, parts = self.run.recipe.model.name, {weight.partition(".")[0] for weight in self.weights}
        return (
            f"model=encoder-classifier with model.of={name}"
            if {"encoder", "decoder"} <= parts
            else "the model of that run"
        )


def origin_of(recipe: Recipe, plan: Plan, begun: Run | None = None) -> Origin | None:
    """Where a training starts from; None if from fresh weights, or if one that has begun goes on from a checkpoint."""
    if plan.from_run is None:
        return None
    if wants(recipe.task) in ("tokens", "masked"):
        raise GradlabError(
            f"train.from_run has weights of a classifier or an encoder, of no use for task={recipe.task.name}."
        )
    if begun is None:
        return Origin.of(plan)
    if newest_sound(begun.checkpoints)[0] is not None:
        return None
    try:
        return Origin.of(plan)
    except GradlabError as error:
        raise GradlabError(f"{begun.path} has no checkpoint, and starts again from train.from_run: {error}") from None


def taken_over(plan: Plan, origin: Origin | None, begun: Run | None) -> Preparation | None:
    """How inputs are prepared: as the weights know them. One that has begun keeps it, and needs that run no longer."""
    run = begun or (origin.run if origin is not None else None)
    return run.preprocessing if run is not None and plan.from_run is not None else None


def check_own_start(plan: Plan) -> None:
    """Refuse a plan that names a run, where the model comes with weights of its own."""
    if plan.from_run is not None:
        raise GradlabError(
            "train.from_run is for recipes. A module of your own takes weights by "
            "model.load_state_dict(gradlab.load_run(RUN).chosen_weights(), strict=False)."
        )


def start_in_words(plan: Plan, steps: int) -> str:
    """What a training starts from, and what stays frozen until when; empty if nothing is special about it."""
    words = []
    if plan.from_run is not None:
        words.append(f"the weights of {plan.from_run}" + ", with a new last layer" * bool(plan.new_head))
    if plan.freeze:
        parts = "all but the last layer" if plan.freeze == [TRUNK] else ", ".join(plan.freeze)
        thaw, slower = plan.thaw_step(steps), f"at {plan.thaw_lr:g} of the rate"
        until = "" if thaw is None else f" until step {thaw:,}, then {slower}"
        words.append(f"{parts} {slower}" if thaw == 0 else f"{parts} frozen{until}")
    return "; ".join(words)


def _encoder(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Those of the part of a model that it calls its encoder, by their names in there."""
    return {name.removeprefix("encoder."): weight for name, weight in weights.items() if begins(name, "encoder")}


def _shape(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape)) or "one number"


def _check_categories(run: Run, raw: Raw) -> None:
    """Codes of categories are places in a list: the weights know them in the order that the run had."""
    before = {column["name"]: column for column in (run.data.get("reader") or {}).get("columns", [])}
    now: dict[str, Any] = raw.reader.describe() if raw.reader is not None else {}
    for column in now.get("columns", []):
        known = before.get(column["name"], column)
        if column["use"] == "input" and column["values"] != known["values"]:
            raise GradlabError(
                f"The column {column['name']!r} has the categories {listed(column['values'])}, but those of "
                f"{run.path}, whose weights know them by their order, are {listed(known['values'])}."
            )


def _notes_on_scale(run: Run, dataset: Dataset) -> list[str]:
    """What stands out if new inputs are far from those for which the preprocessing was fitted."""
    preparation = run.preprocessing
    if not isinstance(preparation, Preprocessing) or preparation.method != "standardise":
        return []
    inputs = dataset.train.sample(_SAMPLE).inputs[:].flatten()
    spread, mean = torch.std_mean(inputs)
    if 1 / _ALIKE < spread < _ALIKE and abs(mean) < 1:
        return []
    return [
        f"Standardised as in {run.path}, the inputs have mean {number(mean.item())} and standard deviation "
        f"{number(spread.item())}, and not about 0 and 1: its weights know others. Are they in the same unit?"
    ]
