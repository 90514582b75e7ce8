"""The folder of a study: study.json, report.html, and a run folder for each of its trainings.

study.json says what was asked for from the first moment on, so that the same command goes on with a study that was
killed, and another command does not mix with it.
"""

import json
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.errors import GradlabError, TrainingError
from gradlab.recipe import Recipe, flat
from gradlab.report.markup import Html
from gradlab.wording import as_typed

_MISSING = "nothing"


@dataclass(frozen=True)
class StudyFolder:
    """A folder that holds the study that was asked for."""

    path: Path

    @classmethod
    def open(cls, path: Path, asked: dict[str, Any]) -> "StudyFolder":
        """Make the folder, by one rename, or go on with the one that is there if it was asked the same."""
        folder = cls(path)
        if not path.exists():
            folder._create(asked)
        elif not (path / "study.json").is_file():
            raise GradlabError(f"{path} exists already, and is no study. Name another folder: --out FOLDER.")
        _check_same(path, folder.content["asked"], json.loads(json.dumps(asked)))
        return folder

    def _create(self, asked: dict[str, Any]) -> None:
        temporary = self.path.with_name(f".{self.path.name}-{os.getpid()}")
        try:
            temporary.mkdir(parents=True)
            _write(temporary / "study.json", {"asked": asked})
            temporary.rename(self.path)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if not (self.path / "study.json").is_file():  # else another process was first
                raise GradlabError(f"The study folder {self.path} cannot be made: {error}.") from None

    @property
    def content(self) -> dict[str, Any]:
        """What study.json holds."""
        path = self.path / "study.json"
        try:
            content = json.loads(path.read_text())
            sound = isinstance(content["asked"], dict)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise GradlabError(f"{path} is damaged: {error}. Name another folder: --out FOLDER.") from None
        if not sound:
            raise GradlabError(f"{path} is damaged. Name another folder: --out FOLDER.")
        found: dict[str, Any] = content
        return found

    def update(self, **parts: Any) -> None:
        """Set parts of study.json, whole or not at all."""
        self._replace("study.json", json.dumps({**self.content, **parts}, indent=1) + "\n")

    def finish(self, result: dict[str, Any], report: Html) -> None:
        """Write what came out, for scripts and for people."""
        self.update(result=result)
        self._replace("report.html", report)

    def _replace(self, name: str, text: str) -> None:
        temporary = self.path / f".{name}-{os.getpid()}"
        try:
            # As bytes: the page states the hashes of its scripts, which a translated line end would change.
            temporary.write_bytes(text.encode())
            temporary.replace(self.path / name)
        except OSError as error:
            raise TrainingError(f"{self.path / name} cannot be written: {error}. Make room, and start again.") from None
        finally:
            temporary.unlink(missing_ok=True)


def plain_recipe(recipe: Recipe) -> dict[str, Any]:
    """A recipe as JSON holds it."""
    return tomllib.loads(recipe.to_toml())


def _check_same(path: Path, begun: dict[str, Any], asked: dict[str, Any]) -> None:
    before, now = flat(begun), flat(asked)
    for key in dict.fromkeys((*before, *now)):
        was, wanted = (values.get(key, _MISSING) for values in (before, now))
        if was != wanted:
            raise GradlabError(
                f"{path} holds another study: it was begun with {key.removeprefix('recipe.')}={as_typed(was)}, and "
                f"this asks for {as_typed(wanted)}. Repeat its own command, or name another folder: --out FOLDER."
            )


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")
