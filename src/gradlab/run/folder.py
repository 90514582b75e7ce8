"""A run on disk, readable without gradlab.

recipe.toml        everything that was asked for, resolved
environment.json   versions, hardware, threads, device, command
data.json          shape and names of the inputs, fitted preprocessing, classes, fingerprint of the data
tokenizer.json     of a model of text, in the format of the tokenizers library
code/              copies of files of one's own that registered parts of the recipe
metrics.jsonl      one line per log point
checkpoints/       step-NNNNNNNN/: model, optimizer and best weights, state.json, SHA256SUMS
result.json        final figures
report.html        what happened, for people
tensorboard/       the figures of metrics.jsonl as event files (train.log=tensorboard)
live.html          what is happening, where somebody watched (`gradlab report RUN --watch`)
"""

import math
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab import owners
from gradlab.claims import claimed
from gradlab.data import (
    Context,
    Dataset,
    Examples,
    Preparation,
    Reader,
    Targets,
    Tokenizer,
    load,
    preparation_of,
    reader_of,
)
from gradlab.data.dataset import split_size
from gradlab.data.moved import is_same, moved
from gradlab.diagnosis.finding import Finding
from gradlab.errors import GradlabError, TrainingError, notice, one_line
from gradlab.files import (
    Damaged,
    check_content,
    interpreting,
    json_text,
    parse_json,
    read_json,
    read_text,
    write_folder,
    write_json,
)
from gradlab.files.formats import Data, EnvironmentFile, Line, Result
from gradlab.models import build_model
from gradlab.owners import Code
from gradlab.recipe import FIT, Recipe
from gradlab.registry import Part
from gradlab.run import checkpoint
from gradlab.run.columns import Effect, Importance, effect_of, importance_of
from gradlab.run.new_examples import new_examples
from gradlab.specs import Array
from gradlab.tasks import Classify, Ranking, Task, compare, evaluate, predict, rankings, tasks, wants
from gradlab.tasks.finite import check_losses, check_outputs

BRING_BACK = "Bring those back, or say where they are now: --data PATH."


class Run:
    """A run folder. `run.test["accuracy"]`, `run.predict(x)`, `run.metrics`; nothing is read before it is asked for.

    `data` is where its data are now, if that is not where they were.
    """

    def __init__(self, path: Path, data: str | Path | None = None):
        self.path = path
        self._data_path = data
        self._noticed: set[str] = set()
        self._new: dict[str, Examples] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @classmethod
    def create(
        cls, path: Path, recipe: Recipe, environment: dict[str, Any], dataset: Dataset, codes: Sequence[Code] = ()
    ) -> "Run":
        """Make the folder with all that is known before the first step. It appears by one rename, or not at all.

        Of files of the user's that registered parts of the recipe, copies and sums are kept; they are never run.
        """
        if os.path.exists(path):  # unlike path.exists(), of a name that no file can have too
            raise GradlabError(f"{path} exists already. Name another folder, or go on with: gradlab resume {path}")
        own = {"code": {code.path.name: code.sha256 for code in codes}} if codes else {}
        texts = {
            "recipe.toml": recipe.to_toml(),
            "environment.json": json_text({**environment, **own}) + "\n",
            "data.json": json_text(describe(dataset)) + "\n",
            **dataset.preprocessing.files(),
        }
        with write_folder(path, advice="Make room there, or name another folder: --out FOLDER.") as folder:
            for name, text in texts.items():
                (folder / name).write_bytes(text.encode())
            for code in codes:
                (folder / "code").mkdir(exist_ok=True)
                (folder / "code" / code.path.name).write_bytes(code.content)
        return cls(path)

    # What the files say.

    @cached_property
    def recipe(self) -> Recipe:
        return Recipe.read(self.path / "recipe.toml")

    @cached_property
    def environment(self) -> EnvironmentFile:
        return read_json(self.path / "environment.json", EnvironmentFile)

    @property
    def names(self) -> list[str]:
        """What its user calls it: the folder, the file or folder of the data, the recipe."""
        data = self.recipe.data.values.get("path")
        return list(dict.fromkeys([self.path.resolve().name, *([Path(data).name] if data else []), self.recipe.name]))

    @property
    def code(self) -> dict[str, str]:
        """The sums, by SHA-256, of the user's own files that registered parts of it, by their names."""
        return self.environment.get("code", {})

    @cached_property
    def data(self) -> Data:
        return read_json(self.path / "data.json", Data)

    @cached_property
    def targets(self) -> Targets:
        """What data.json says of the targets."""
        return check_content(self.data["targets"], Targets, f"{self.path / 'data.json'} (targets)")

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines of the metrics log; a last line cut short by a kill is left out."""
        return [line for line, _ in read_lines(self.path / "metrics.jsonl")]

    @property
    def result(self) -> dict[str, Any] | None:
        """The final figures, or None while the run is not finished."""
        path = self.path / "result.json"
        return {**read_json(path, Result, f"It is made again by: {self.resume_command}")} if path.exists() else None

    def conclude(self, figures: Mapping[str, Any]) -> None:
        """Write the final figures: the run is finished."""
        write_json(self.path / "result.json", figures, f"Make room, then: {self.resume_command}", TrainingError)

    def to_be_continued(self) -> bool:
        """Whether there are no final figures yet; those that cannot be read are told, and are to be made again."""
        try:
            return self.result is None
        except Damaged as error:
            notice(f"{error.what} Its figures are made again.")
            return True

    @property
    def finished(self) -> dict[str, Any]:
        """The final figures of a run that has them."""
        result = self.result
        if result is None:
            raise GradlabError(f"{self.path} is not finished. Go on with: {self.resume_command}")
        return result

    @property
    def test(self) -> dict[str, float]:
        figures: dict[str, float] = self.finished["test"]
        return figures

    @property
    def validation(self) -> dict[str, float]:
        figures: dict[str, float] = self.finished["validation"]
        return figures

    @property
    def findings(self) -> list[Finding] | None:
        """What the doctor found, the gravest first; None where it was switched off."""
        findings = self.finished.get("findings")
        with interpreting(self.path / "result.json"):
            return None if findings is None else [Finding.from_json(shown) for shown in findings]

    @property
    def resume_command(self) -> str:
        """How a run that was stopped is gone on with."""
        data = "" if self._data_path is None else f" --data {shlex.quote(str(self._data_path))}"
        return self.recipe.resume_command(self.path, f"{data}{self.code_options}")

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    # Using the trained model.

    def check_code(self) -> list[str]:
        """Refuse to go on without the user's files that its parts came from; tell of those that have changed."""
        if self.recipe.data.name == FIT:
            raise GradlabError(
                f"{self.path} was made by gradlab.fit: its model and data are in a script. Repeat its call of fit, or "
                f"take its weights: gradlab.load_run({str(self.path)!r}).chosen_weights()"
            )
        for name in self.code:
            if not owners.named(name):
                raise GradlabError(
                    f"{self.path} was trained with {name}, a Python file that is not gradlab's. It is run only if you "
                    f"name it: --code {name}. There is a copy, {self.path / 'code' / name}: look at it before you name "
                    "that."
                )
        return self.changed_code()

    def changed_code(self) -> list[str]:
        """Of the user's files that were named, those that are not as they were in its training, in words."""
        return [
            f"{owners.shown(codes[-1].path)} is not the file that {self.path} was trained with, which is "
            f"{self.path / 'code' / name}."
            for name, digest in self.code.items()
            if (codes := owners.named(name)) and digest not in [code.sha256 for code in codes]
        ]

    def _tell_of_code(self) -> None:
        """Before a part of the run is made: are the user's files there? Those that have changed are told once."""
        for change in self.check_code():
            if change not in self._noticed:
                notice(change)
                self._noticed.add(change)

    @property
    def code_options(self) -> str:
        """As commands that use this run must name the user's own files: ` --code mine.py`, or nothing."""
        paths = [owners.shown(codes[-1].path) if (codes := owners.named(name)) else name for name in self.code]
        return "".join(f" --code {shlex.quote(path)}" for path in paths)

    @cached_property
    def preprocessing(self) -> Preparation:
        with interpreting(self.path / "data.json"):
            return preparation_of(self.data["inputs"], self.data["targets"], lambda name: read_text(self.path / name))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """How text becomes tokens."""
        if not isinstance(self.preprocessing, Context):
            raise GradlabError(f"{self.path} is no language model: it has no tokenizer.")
        return Tokenizer.from_json(self.preprocessing.tokenizer, str(self.path / "tokenizer.json"))

    @cached_property
    def reader(self) -> Reader:
        """How files become raw inputs, as they did for training."""
        if self.task.use != "predict":
            raise GradlabError(f"{self.path} {self.task.instead.format(run=self.path)}")
        with interpreting(self.path / "data.json"):
            spec = self.preprocessing.spec
            shape = tuple(self.data["inputs"].get("shape", spec.shape if isinstance(spec, Array) else ()))
            return reader_of(self.data.get("reader"), shape)

    @cached_property
    def task(self) -> Task:
        self._tell_of_code()
        return tasks.build(tasks.resolve(self.recipe.task, "task"), self.targets)

    @cached_property
    def model(self) -> nn.Module:
        """The trained model on the CPU, in evaluation mode: the newest sound checkpoint's chosen weights."""
        weights = self.chosen_weights()
        with torch.random.fork_rng(devices=[]):  # fresh weights are drawn, and the caller's generator left alone
            inputs, data = self.preprocessing.spec, self.recipe.data.name
            model = build_model(self.recipe.model, inputs, self.task.outputs, data=data)
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise GradlabError(f"{self.path}: its weights do not fit its recipe. {one_line(error)}") from None
        return model.eval()

    def chosen_weights(self) -> dict[str, Tensor]:
        """The weights that the run ended with, or would end with if it were stopped at its newest checkpoint."""
        newest, complaints = checkpoint.newest_sound(self.checkpoints)
        if newest is None:
            reason = complaints[0] if complaints else "it has no checkpoint yet."
            raise GradlabError(f"{self.path} has no model to use: {reason}")
        for complaint in complaints:
            notice(f"{complaint} Using step {newest.step} instead.")
        return newest.chosen

    def outputs(self, raw: npt.ArrayLike | str | Path) -> Tensor:
        """What the model gives for raw inputs (one row per example, or a file): logits, or standardised numbers."""
        reader = self.reader
        values = reader.read(str(raw)).values if isinstance(raw, (str, Path)) else np.asarray(raw)
        return check_outputs(predict(self.model, self.prepared(values)))

    def prepared(self, values: npt.NDArray[Any]) -> Any:
        """Raw inputs as the model takes them, with values that training knew."""
        x = self.preprocessing(values)
        # Where a reader knows the categories by name, it has told of unknown ones itself.
        named = [c["name"] for c in (self.data.get("reader") or {}).get("columns", [])]
        with interpreting(self.path / "recipe.toml"):
            coded = [c for c in self.recipe.data.values.get("one_hot", []) if c not in named]
            self.preprocessing.check_known(values, coded)
        return x

    @property
    def temperature(self) -> float:
        """What logits are divided by to make probabilities that are as sure as they are right."""
        calibration = self.finished.get("calibration")
        if calibration is None:
            raise GradlabError(
                f"{self.path} has no temperature to calibrate with: only a classification that held out a validation "
                "split has one (data.validation)."
            )
        return float(calibration["temperature"])

    def describe(
        self, raw: npt.ArrayLike, calibrated: bool = False, threshold: float | None = None
    ) -> list[dict[str, Any]]:
        """Predictions in full: label and probabilities, or value, one dictionary per example.

        With a `threshold`, the label is the rarer of two classes where its probability is at least that.
        """
        task = self._task_at(threshold)  # which refuses it before anything is computed
        return task.decode(self.outputs(raw) / (self.temperature if calibrated else 1.0))

    def predict(self, raw: npt.ArrayLike, calibrated: bool = False, threshold: float | None = None) -> npt.NDArray[Any]:
        """Predicted labels or values for raw inputs, one per row."""
        return np.array([p.get("label", p.get("value")) for p in self.describe(raw, calibrated, threshold)])

    def _task_at(self, threshold: float | None) -> Task:
        return self.task if threshold is None else self.task.at_threshold(threshold)

    @property
    def source(self) -> Part:
        """What the recipe says of the data, and where they are now."""
        return self.recipe.data if self._data_path is None else moved(self.recipe.data, self._data_path)

    @cached_property
    def dataset(self) -> Dataset:
        """The data of the run, read again and prepared as they were; refused if they have changed."""
        self._tell_of_code()
        dataset = load(self.source, wants(self.recipe.task))
        if dataset.raw.fingerprint() != self.data["fingerprint"]:
            raise GradlabError(f"The data of {self.path} are not the ones it was trained on. {BRING_BACK}")
        return dataset

    def evaluate(
        self, split: str | None = None, *, data: str | Path | None = None, threshold: float | None = None
    ) -> dict[str, float]:
        """Loss and metrics on a split, default test, or on all of other `data`, computed anew.

        Data with the content of the run's own are those at another place. With a `threshold`, the rarer of two classes
        is predicted where its probability is at least that.
        """
        task, examples = self._task_at(threshold), self.as_read(self.examples(split, data))
        figures = evaluate(self.model, task, examples)
        where = str(data) if self.is_new(data) else f"{split or 'test'} split"
        check_losses(figures, self.model, task, examples, where)
        return figures

    def baselines(self, split: str | None = None, *, data: str | Path | None = None) -> dict[str, dict[str, float]]:
        """The figures of trivial predictors, and of other methods on a table, by name, the strongest last.

        They are made of the training examples; where only new data are left, there are none.
        """
        examples = self.examples(split, data)
        try:
            train = self.task.encoded(self.dataset.train)
        except GradlabError as error:
            if not self.is_new(data):
                raise
            notice(f"There are no baselines, which are made of the training examples: {error}")
            return {}
        others = {**self.task.baselines(train, self.model), **self.task.references(train)}
        return compare(others, self.task, examples)

    def is_new(self, data: str | Path | None) -> bool:
        """Whether these are other examples than the run's own; its own, at another place, are read from there then."""
        if data is None or data == self._data_path:
            return False
        if str(data) in self._new:
            return True
        self._tell_of_code()
        if is_same(self.recipe.data, data, self.data["fingerprint"], wants(self.recipe.task)):
            self._data_path = data
            return False
        return True

    def examples(self, split: str | None = None, data: str | Path | None = None) -> Examples:
        """A split, or all of new data, with targets as the loss takes them."""
        if data is None or not self.is_new(data):
            return self._encoded(split or "test")
        if split is not None:
            raise GradlabError(
                f"{data} has other examples than {self.path} was made of: all of them are evaluated. Leave out --split."
            )
        if str(data) not in self._new:
            self._new[str(data)] = self.task.encoded(new_examples(self, str(data)))
        return self._new[str(data)]

    def importance(self, columns: Sequence[str] | None = None) -> Importance:
        """How much worse the model is on held-out rows where a column of its table is permuted, of each or of some."""
        return importance_of(self, columns)

    def effect(self, column: str) -> Effect:
        """How the mean prediction follows a column of its table, all others being as they are."""
        return effect_of(self, column)

    def rankings(self, split: str = "test") -> dict[str, Ranking]:
        """A classification at every threshold, by class; of two classes the positive one alone, which is the rarer."""
        if not isinstance(self.task, Classify):
            raise GradlabError(f"{self.path} is no classification: it has no threshold.")
        examples = self._encoded(split)
        probabilities = self.task.class_logits(predict(self.model, examples.inputs)).double().softmax(1)
        return rankings(probabilities.numpy(), examples.targets.numpy(), self.targets)

    @property
    def threshold(self) -> float:
        """Of two classes, the probability from which on the positive one has the best F1 on the validation split."""
        found = self.rankings("validation")
        if len(self.targets.classes or []) != 2 or not found:
            raise GradlabError(
                f"{self.path} has no best threshold: only a classification of two classes, both of which are in its "
                "validation split, has one."
            )
        return next(iter(found.values())).best.threshold

    def _encoded(self, split: str) -> Examples:
        """A split with its targets as the loss takes them."""
        examples = self.dataset.split(split)
        if split_size(examples) == 0:
            raise GradlabError(f"{self.path} has no examples in its {split} split.")
        encoded: Examples = self.task.encoded(examples)
        return encoded

    def as_read(self, examples: Examples) -> Examples:
        """Examples as the model reads them: in order, where it was trained with `train.carry`."""
        return examples.carried() if self.recipe.train.get("carry", False) else examples

    def locked(self) -> AbstractContextManager[None]:
        """Only one process may train a run."""
        return claimed(self.path / ".lock", f"{self.path} is being trained by another process.")


def open_run(path: str | Path, data: str | Path | None = None) -> Run:
    """The run in a folder, and where its data are if they have moved."""
    folder = Path(path)
    if not folder.is_dir():
        raise GradlabError(f"{path} is not a folder. `gradlab runs` lists the runs here.")
    if not (folder / "recipe.toml").is_file():
        raise GradlabError(f"{path} is not a run: it has no recipe.toml. `gradlab runs` lists the runs here.")
    return Run(folder, data)


def new_path(name: str) -> Path:
    """A free folder under runs/ in the working directory."""
    if Path(name).name != name:
        raise GradlabError(f"The recipe's name {name!r} cannot name a folder. Give one: --out FOLDER.")
    while (path := Path("runs") / f"{name}-{secrets.token_hex(2)}").exists():
        pass
    return path


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The lines of a metrics log, read and as they are, up to the first that is not whole."""
    if not path.is_file():
        return
    with path.open(errors="replace", newline="\n") as file:
        for text in file:
            try:
                line = parse_json(text, Line, path)
            except Damaged:
                return
            # JSON knows no NaN, and nothing else is null in a line.
            yield {key: math.nan if value is None else value for key, value in line.items()}, text.rstrip("\n")


def describe(dataset: Dataset) -> dict[str, Any]:
    """What data.json holds."""
    return {
        "inputs": {"kind": dataset.preprocessing.kind, **dataset.preprocessing.describe()},
        "reader": dataset.raw.reader.describe() if dataset.raw.reader else None,
        "targets": asdict(dataset.targets),
        "sizes": {split: split_size(dataset.split(split)) for split in ("train", "validation", "test")},
        "fingerprint": dataset.raw.fingerprint(),
    }
