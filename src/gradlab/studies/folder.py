"""The folder of a study: study.json, report.html, and a run folder for each of its trainings.

study.json says what was asked for from the first moment on, so that the same command goes on with a study that was
killed, and another command does not mix with it.
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.errors import GradlabError, TrainingError
from gradlab.files import (
    REMEDY,
    clear_leftovers,
    json_text,
    read_json,
    refuse_links,
    write_file,
    write_folder,
    write_json,
)
from gradlab.files.formats import Study
from gradlab.markup import Html
from gradlab.recipe import Recipe, flat
from gradlab.wording import as_typed

_MISSING = "nothing"
_ELSEWHERE = "Name another folder: --out FOLDER."
_AGAIN = f"{REMEDY}, and start again."


@dataclass(frozen=True)
class StudyFolder:
    """A folder that holds the study that was asked for."""

    path: Path

    @classmethod
    def open(cls, path: Path, settings: dict[str, Any]) -> "StudyFolder":
        """Make the folder, by one rename, or go on with the one that is there if it was asked the same."""
        clear_leftovers(path.parent)
        if not path.exists():
            with write_folder(path, "keep", _ELSEWHERE) as new:
                write_json(new / "study.json", {"asked": settings})
        elif not (path / "study.json").is_file():
            raise GradlabError(f"{path} exists already, and is no study. {_ELSEWHERE}")
        refuse_links(path)
        folder = cls(path)
        _check_same(path, folder.content["asked"], json.loads(json_text(settings)))
        return folder

    @property
    def content(self) -> Study:
        """What study.json holds."""
        return read_json(self.path / "study.json", Study, _ELSEWHERE)

    def update(self, **parts: Any) -> None:
        """Set parts of study.json, whole or not at all."""
        write_json(self.path / "study.json", {**self.content, **parts}, _AGAIN, TrainingError)

    def finish(self, result: dict[str, Any], report: Html) -> None:
        """Write what came out, for scripts and for people."""
        self.update(result=result)
        write_file(self.path / "report.html", report, _AGAIN, TrainingError)


def plain_recipe(recipe: Recipe) -> dict[str, Any]:
    """A recipe as JSON holds it."""
    return tomllib.loads(recipe.to_toml())


def _check_same(path: Path, begun: dict[str, Any], settings: dict[str, Any]) -> None:
    before, now = flat(begun), flat(settings)
    for key in dict.fromkeys((*before, *now)):
        was, wanted = (values.get(key, _MISSING) for values in (before, now))
        if was != wanted:
            raise GradlabError(
                f"{path} holds another study: it was begun with {key.removeprefix('recipe.')}={as_typed(was)}, and "
                f"this asks for {as_typed(wanted)}. Repeat its own command. {_ELSEWHERE}"
            )
