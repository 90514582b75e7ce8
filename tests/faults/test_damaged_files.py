"""Whatever the files of a run, a study, an estimator or a pretrained model hold: one message, never a traceback.

Every value of every file is renamed, removed, and put to another type, one by one.
"""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import accept_changes

import gradlab as gl
from gradlab.data import Tokenizer
from gradlab.errors import GradlabError
from gradlab.files import write_sums
from gradlab.models.pretrained import from_pretrained
from gradlab.studies.folder import StudyFolder

WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "no UTF-8": lambda content: content[:30] + b"\xff" + content[30:],
    "nested deeply": lambda content: b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "a huge number": lambda content: b'{"a": ' + b"7" * 5000 + b"}",
    "half a character": lambda content: b'{"\\ud800": 1}',
    "a list": lambda content: b"[1, 2]",
}
VALUES: list[Any] = ["text", [], None, -1, 0.5, {"a": {}}, 10**30]


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value in nested objects; of a list, the first alone."""
    items = content.items() if isinstance(content, dict) else list(enumerate(content))[:1]
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def damaged(content: Any) -> Iterator[tuple[str, Any]]:
    """The content with one thing wrong, in every place."""
    for *path, key in places(content):
        for change in ["renamed", "removed", *range(len(VALUES))] if isinstance(key, str) else range(len(VALUES)):
            other = copy.deepcopy(content)
            parent = other
            for step in path:
                parent = parent[step]
            if change == "renamed":
                parent[f"{key}s"] = parent.pop(key)
            elif change == "removed":
                del parent[key]
            else:
                parent[key] = VALUES[change]
            yield f"{[*path, key]}: {change if isinstance(change, str) else VALUES[change]!r}", other


def outcome(use: Callable[[], Any], what: str) -> str:
    """The message with which it is refused, or nothing; whatever else is raised is a fault."""
    try:
        use()
    except GradlabError as error:
        return str(error)
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return ""


def sum_up(folder: Path) -> None:
    """Write the sums of a folder whose files are written together."""
    (folder / "SHA256SUMS").unlink()
    write_sums(folder)


def check_everywhere(
    file: Path, use: Callable[[], Any], accept: Callable[[Path], None] = lambda folder: None, least: int = 1
) -> None:
    """However the file is damaged, its use ends well or in one message; some damages must be refused.

    `accept` writes the sums of its folder anew.
    """
    sound = file.read_bytes()
    refused = 0
    changes = {**{name: change(sound) for name, change in WHOLE.items()}}
    changes |= {name: json.dumps(other).encode() for name, other in damaged(json.loads(sound))}
    for name, content in changes.items():
        file.write_bytes(content)
        accept(file.parent)
        message = outcome(use, f"{file.name}, {name}")
        assert message or name not in WHOLE, name
        refused += bool(message)
    assert refused >= least
    file.write_bytes(sound)
    file.unlink()
    file.symlink_to("nowhere")
    with pytest.raises(GradlabError):
        use()


def used(run: Path) -> None:
    opened = gl.load_run(run)
    for figures in (opened.test, opened.validation):
        assert all(isinstance(value, float) for value in figures.values())
    assert isinstance(opened.findings, list | None)
    assert len(opened.code) < 9
    opened.predict(np.zeros((1, 2)), calibrated=True)


@pytest.mark.parametrize(("file", "least"), [("data.json", 60), ("environment.json", 40), ("result.json", 80)])
def test_files_of_a_run(finished: Path, file: str, least: int) -> None:
    check_everywhere(finished / file, lambda: used(finished), accept_changes, least=least)


def test_recipe_toml(finished: Path) -> None:
    sound = (finished / "recipe.toml").read_text()
    lines = sound.splitlines()
    changes = [b"\xff", b"a = " + b"[" * 10_000, b"a = " + b"7" * 5000, b'recipe = "\\ud800"', b"recipe = 3"]
    for i, line in enumerate(lines):
        key = line.split(" = ")[0]
        others = [f"{key}s = 1", f"{key} = 'text'", f"{key} = -1", f"{key} = [[]]", f"{key} = 1979-05-27", ""]
        changes += ["\n".join([*lines[:i], other, *lines[i + 1 :]]).encode() for other in others]
    for content in changes:
        (finished / "recipe.toml").write_bytes(content)
        accept_changes(finished)
        outcome(lambda: used(finished), content.decode(errors="replace")[:2000])
    (finished / "recipe.toml").unlink()
    (finished / "recipe.toml").symlink_to("nowhere")
    with pytest.raises(GradlabError, match=r"recipe\.toml"):
        used(finished)


def test_state_json_with_sums_that_are_right(unfinished: Path) -> None:
    for path in sorted((unfinished / "checkpoints").iterdir())[:-1]:
        shutil.rmtree(path)
    (last,) = (unfinished / "checkpoints").iterdir()
    check_everywhere(last / "state.json", lambda: gl.load_run(unfinished).chosen_weights(), accept=sum_up)


def test_a_study(tmp_path: Path) -> None:
    from gradlab.studies.members import Member, _done

    asked = {"study": "seeds", "seeds": 2, "recipe": {"train": {"lr": 0.1}}}
    folder = StudyFolder.open(tmp_path / "study", asked)
    member = {"name": "a", "changes": {"train.seed": 1}, "examples": 3, "ended": "finished", "steps": 2}
    figures = {"train": {"loss": 1.0}, "validation": {}, "test": {"loss": float("nan")}, "baseline": {}}
    folder.update(members=[{**member, **figures}])
    assert b"NaN" not in (tmp_path / "study" / "study.json").read_bytes()

    def use() -> None:
        opened = StudyFolder.open(tmp_path / "study", asked)
        assert all(isinstance(one, Member) for one in _done(opened).values())

    check_everywhere(tmp_path / "study" / "study.json", use, least=30)


def test_an_estimator(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    gl.Classifier(epochs=1, hidden=(4,), random_state=0).fit(x, np.array(["a", "b"] * 15)).save(tmp_path / "kept")
    check_everywhere(
        tmp_path / "kept" / "state.json", lambda: gl.load_estimator(tmp_path / "kept"), accept=sum_up, least=60
    )


def test_a_pretrained_model(tmp_path: Path) -> None:
    from gradlab.models import TransformerLanguageModel

    gl.save_pretrained(TransformerLanguageModel(32, context=8, dim=8, layers=1, heads=2), tmp_path / "gpt")
    check_everywhere(tmp_path / "gpt" / "config.json", lambda: from_pretrained(tmp_path / "gpt"), least=30)


@pytest.mark.parametrize("kind", ["char", "bpe"])
def test_a_tokenizer(tmp_path: Path, kind: str) -> None:
    text = "the quick brown fox"
    vocabulary = {"bpe": 262}.get(kind)
    Tokenizer.train(kind, [text], vocabulary=vocabulary).save(tmp_path / "tokenizer.json")
    check_everywhere(
        tmp_path / "tokenizer.json", lambda: Tokenizer.load(tmp_path / "tokenizer.json").encode(text), least=30
    )


def test_a_tokenizer_whose_numbers_would_take_all_memory(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    Tokenizer.train("char", ["ab"]).save(path)
    content = json.loads(path.read_text())
    content["model"]["vocab"]["a"] = 2**33  # the library would end the process
    path.write_text(json.dumps(content))
    with pytest.raises(GradlabError, match=r"tokenizer.json is damaged: it has the number 8,589,934,592"):
        Tokenizer.load(path)
