"""What is to be trained, from the words of a command, and back into words."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import exists
from typing import TYPE_CHECKING

from gradlab.errors import GradlabError

if TYPE_CHECKING:
    from gradlab.recipes.request import TrainingRequest


def read_request(name: str | None, texts: tuple[str, ...], data: str | None) -> TrainingRequest:
    """A recipe or a path and its overrides, among which the data may stand too."""
    from gradlab.recipes.request import TrainingRequest

    files = [text for text in texts if "=" not in text and exists(text)]
    if len(files) + (data is not None) > 1:
        raise GradlabError(f"{' and '.join(filter(None, (data, *files)))} are several data: name one of them.")
    texts = tuple(text for text in texts if text not in files)
    return TrainingRequest.complete(name, read_overrides(texts), next(iter(files), data))


def read_overrides(overrides: tuple[str, ...]) -> dict[str, str]:
    """`key=value` texts as a dictionary."""
    for text in overrides:
        if "=" not in text:
            raise GradlabError(f"{text!r} is neither of the form key=value, such as train.lr=0.01, nor a file here.")
    return dict(text.split("=", 1) for text in overrides)


def shared_options(data: str | None, code: Sequence[str], device: str) -> list[str]:
    """The options of data, code and device, as they are typed."""
    files = [part for file in code for part in ("--code", file)]
    return [*(["--data", data] if data else []), *files, *(["--device", device] if device != "auto" else [])]
