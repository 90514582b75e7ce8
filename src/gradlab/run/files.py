"""A run on disk, readable without gradlab.

recipe.toml        everything that was asked for, resolved
environment.json   versions, hardware, threads, device, command
data.json          shape and names of the inputs, fitted preprocessing, classes, fingerprint of the data
tokenizer.json     of a model of text, in the format of the tokenizers library
code/              copies of files of one's own that registered parts of the recipe
metrics.jsonl      one line per log point
start/             the first weights, where the recipe does not draw them: those of a pruned model
samples/           of a model that draws: the same samples at moments of its training
features/          of a model that draws: by what its samples are judged
checkpoints/       step-NNNNNNNN/: model, optimizer and best weights, state.json, SHA256SUMS
result.json        final figures
SHA256SUMS         of all files above: start/, samples/, features/ and each checkpoint have one of their own
report.html        what happened, for people
tensorboard/       the figures of metrics.jsonl as event files (train.log=tensorboard)
live.html          what is happening, where somebody watched (`gradlab report RUN --watch`)

metrics.jsonl grows, and is in SHA256SUMS only once the run is finished. What gradlab never reads again has no sum.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from gradlab import owners
from gradlab.claims import claimed
from gradlab.data import Dataset, Targets
from gradlab.data.dataset import split_size
from gradlab.diagnosis.finding import Finding, Findings
from gradlab.errors import GradlabError, TrainingError, notice
from gradlab.files import (
    ANOTHER_PLACE,
    REMEDY,
    Damaged,
    FolderSums,
    check_content,
    interpreting,
    json_text,
    refuse_links,
    write_folder,
)
from gradlab.files.formats import Data, EnvironmentFile, Result
from gradlab.inline import InlineResult
from gradlab.markup import Html
from gradlab.owners import Code
from gradlab.recipe import FIT, RUN_RECIPE, Recipe
from gradlab.run.log import read_lines
from gradlab.run.results import Metrics, TrainingLog
from gradlab.run.start import Start
from gradlab.run.summary import run_content, run_facts

_METRICS, _RESULT = "metrics.jsonl", "result.json"


class RunFiles(InlineResult):
    """What the files of a run say, and whose code it needs."""

    def __init__(self, path: Path, data: str | Path | None = None):
        self.path = path
        self._data_path = data
        self._noticed: set[str] = set()
        self.sums = FolderSums(path)

    @property
    def _name(self) -> str:
        return str(self.path)

    def _facts(self) -> list[str]:
        return run_facts(self)

    def _content(self) -> list[Html]:
        return run_content(self)

    @classmethod
    def create(
        cls,
        path: Path,
        recipe: Recipe,
        environment: dict[str, Any],
        dataset: Dataset,
        codes: Sequence[Code] = (),
        start: Start | None = None,
    ) -> Self:
        """Make the folder with all that is known before the first step. It appears by one rename, or not at all.

        Of files of the user's that registered parts of the recipe, copies and sums are kept; they are never run.
        """
        if os.path.exists(path):  # unlike path.exists(), of a name that no file can have too
            raise GradlabError(f"{path} exists already. Name another folder, or go on with: gradlab resume {path}")
        own = {"code": {code.path.name: code.sha256 for code in codes}} if codes else {}
        texts = {
            RUN_RECIPE: recipe.to_toml(),
            "environment.json": json_text({**environment, **own}) + "\n",
            "data.json": json_text(describe(dataset)) + "\n",
            **dataset.preprocessing.files(),
        }
        with write_folder(path, advice=f"{REMEDY}, or name another folder: --out FOLDER.") as folder:
            for name, text in texts.items():
                (folder / name).write_bytes(text.encode())
            for code in codes:
                (folder / "code").mkdir(exist_ok=True)
                (folder / "code" / code.path.name).write_bytes(code.content)
            if start is not None:
                start.write(folder / "start")
            FolderSums(folder).create([*texts, *(f"code/{code.path.name}" for code in codes)])
        return cls(path)

    def read_text(self, name: str) -> str:
        """The content of a file, if it is as gradlab wrote it."""
        return self.sums.read_text(name, self._bring_back)

    @property
    def _bring_back(self) -> str:
        recipe = shlex.quote(str(self.path / RUN_RECIPE))
        return f"Bring back a copy of it, or train again: gradlab train {recipe} --out FOLDER"

    def write_json(self, name: str, content: Any, advice: str = ANOTHER_PLACE) -> None:
        """Put the content in place of what a file holds, and its sum in place of the old one."""
        with self.sums.new_file(name, advice, TrainingError) as new:
            new.write_text(json_text(content) + "\n")

    def output(self, name: str) -> Path:
        """Where a page or another output goes by default; refused in a folder with links."""
        refuse_links(self.path)
        return self.path / name

    @cached_property
    def recipe(self) -> Recipe:
        return Recipe.read_run(self.path)

    @cached_property
    def environment(self) -> EnvironmentFile:
        return self.sums.read_json("environment.json", EnvironmentFile, self._bring_back)

    @cached_property
    def start(self) -> Start | None:
        """The first weights of a run that was pruned; None where its recipe draws them."""
        return Start.read(self.path / "start") if (self.path / "start").exists() else None

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
        return self.sums.read_json("data.json", Data, self._bring_back)

    @cached_property
    def targets(self) -> Targets:
        """What data.json says of the targets."""
        return check_content(self.data["targets"], Targets, f"{self.path / 'data.json'} (targets)")

    @property
    def metrics(self) -> TrainingLog:
        """The lines of the metrics log; a last line cut short by a kill is left out."""
        if not (self.path / _METRICS).exists():
            return TrainingLog()
        if {_METRICS, _RESULT} & {*self.sums.read()}:
            self.sums.check(_METRICS, "Bring back a copy of it.")
        return TrainingLog(line for line, _ in read_lines(self.path / _METRICS))

    @property
    def result(self) -> dict[str, Any] | None:
        """The final figures, or None while the run is not finished."""
        advice = f"It is made again by: {self.resume_command}"
        return {**self.sums.read_json(_RESULT, Result, advice)} if (self.path / _RESULT).exists() else None

    def begin(self) -> None:
        """Before the metrics log grows: it has no sum until the run is finished, nor have old figures."""
        self.sums.remove([_METRICS, _RESULT], f"Make room, then: {self.resume_command}", TrainingError)

    def conclude(self, figures: Mapping[str, Any]) -> None:
        """Write the final figures: the run is finished."""
        advice = f"{REMEDY}, then: {self.resume_command}"
        self.sums.add([_METRICS], advice, TrainingError)
        self.write_json(_RESULT, figures, advice)

    def to_be_continued(self) -> bool:
        """Whether there are no final figures yet; unreadable ones are reported, to be computed again."""
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
    def test(self) -> Metrics:
        return Metrics(self.finished["test"])

    @property
    def validation(self) -> Metrics:
        return Metrics(self.finished["validation"])

    @property
    def findings(self) -> Findings | None:
        """What the doctor found, the gravest first; None where it was switched off."""
        findings = self.finished.get("findings")
        with interpreting(self.path / _RESULT):
            return None if findings is None else Findings(map(Finding.from_json, findings))

    @property
    def resume_command(self) -> str:
        """How a run that was stopped is gone on with."""
        data = "" if self._data_path is None else f" --data {shlex.quote(str(self._data_path))}"
        return self.recipe.resume_command(self.path, f"{data}{self.code_options}")

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def locked(self) -> AbstractContextManager[None]:
        """Only one process may train a run, and none in a folder with links."""
        refuse_links(self.path)
        return claimed(self.path / ".lock", f"{self.path} is being trained by another process.")

    # Code of the user's own.

    def check_code(self) -> list[str]:
        """Refuse to go on without the user's files that its parts came from; report those that have changed."""
        if self.recipe.data.name == FIT:
            raise GradlabError(
                f"{self.path} was made by gradlab.fit: its model and data are in a script. Repeat its call of fit, or "
                f"take its weights: gradlab.load_run({str(self.path)!r}).chosen_weights()"
            )
        for name in self.code:
            if not owners.named(name):
                self.sums.check(f"code/{name}", f"Bring back a copy of {name}.")
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
        """Before a part of the run is made: are the user's files there? Those that have changed are reported once."""
        for change in self.check_code():
            if change not in self._noticed:
                notice(change)
                self._noticed.add(change)

    @property
    def code_options(self) -> str:
        """As commands that use this run must name the user's own files: ` --code mine.py`, or nothing."""
        paths = [owners.shown(codes[-1].path) if (codes := owners.named(name)) else name for name in self.code]
        return "".join(f" --code {shlex.quote(path)}" for path in paths)


def describe(dataset: Dataset) -> dict[str, Any]:
    """What data.json holds."""
    return {
        "inputs": {"kind": dataset.preprocessing.kind, **dataset.preprocessing.describe()},
        "reader": dataset.raw.reader.describe() if dataset.raw.reader else None,
        "targets": asdict(replace(dataset.targets, text=None)),
        "sizes": {split: split_size(dataset.split(split)) for split in ("train", "validation", "test")},
        "fingerprint": dataset.raw.fingerprint(),
    }
