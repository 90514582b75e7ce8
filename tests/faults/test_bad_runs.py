"""Run folders that are none, and runs whose files are damaged."""

import json
import shutil
from pathlib import Path

import pytest
from cli_helpers import ForkServer, accept_changes, check_refused, contents, fresh

COMMANDS = {
    "resume": ["resume", "RUN"],
    "evaluate": ["evaluate", "RUN"],
    "predict": ["predict", "RUN", "1,2"],
    "compare": ["compare", "RUN", "RUN"],
}


def command(name: str, run: Path | str) -> list[str]:
    return [str(run) if word == "RUN" else word for word in COMMANDS[name]]


@pytest.mark.parametrize("what", ["missing", "file", "folder", "run/checkpoints"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_a_run_is_named(quick: ForkServer, finished: Path, tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "file").write_text("not a run")
    (tmp_path / "folder").mkdir()
    before = contents(tmp_path)
    check_refused(quick(*command(name, what), cwd=tmp_path), what, "gradlab runs")
    assert contents(tmp_path) == before


def test_a_process_of_its_own_refuses_a_missing_run_too(tmp_path: Path) -> None:
    check_refused(fresh("resume", "missing", cwd=tmp_path), "missing")


DAMAGE = {
    "cut short": lambda content: content[: len(content) // 3],
    "empty": lambda content: b"",
    "not text": lambda content: b"\xff\xfe\x00\x01",
    "a list": lambda content: b"[1, 2]",
    "without keys": lambda content: b'{"other": 1}',
    "null": lambda content: b"null",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("result.json", "compare"),
        ("environment.json", "resume"),
        ("environment.json", "compare"),
        ("data.json", "resume"),
        ("data.json", "evaluate"),
        ("data.json", "predict"),
        ("recipe.toml", "resume"),
        ("recipe.toml", "predict"),
        ("recipe.toml", "compare"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(
    quick: ForkServer, finished: Path, tmp_path: Path, file: str, name: str, damage: str
) -> None:
    if name == "resume":
        (finished / "result.json").unlink()
    (finished / file).write_bytes(DAMAGE[damage]((finished / file).read_bytes()))
    before = contents(finished)
    check_refused(quick(*command(name, finished), cwd=tmp_path), file)
    assert contents(finished) == before


@pytest.mark.parametrize("file", ["result.json", "environment.json", "recipe.toml"])
def test_runs_lists_the_others_beside_a_damaged_one(
    quick: ForkServer, finished: Path, tmp_path: Path, file: str
) -> None:
    shutil.copytree(finished, tmp_path / "sound")
    (finished / file).write_bytes(DAMAGE["cut short"]((finished / file).read_bytes()))
    states = {run["run"]: run["state"] for run in quick("runs", ".", "--json", cwd=tmp_path).json["runs"]}
    assert states["sound"] == "finished"
    assert f"run/{file}" in states["run"]
    ended = quick("runs", ".", cwd=tmp_path)  # whose cells are folded
    assert ended.code == 0, ended.err
    assert "sound" in ended.out


@pytest.mark.parametrize("damage", ["empty", "cut short", "without keys"])
def test_figures_that_are_damaged_are_made_again(
    quick: ForkServer, finished: Path, reference: Path, tmp_path: Path, damage: str
) -> None:
    """As when a power cut left the name and not the bytes."""
    (finished / "result.json").write_bytes(DAMAGE[damage]((finished / "result.json").read_bytes()))
    ended = quick("resume", finished, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "result.json is damaged" in ended.err
    results = [json.loads((run / "result.json").read_text()) for run in (finished, reference)]
    assert results[0]["test"] == results[1]["test"]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_edited_recipe_is_refused_with_how_to_train_it(
    quick: ForkServer, finished: Path, tmp_path: Path, name: str
) -> None:
    path = finished / "recipe.toml"
    path.write_text(path.read_text().replace("lr = 0.1", "lr = 0.2"))
    check_refused(quick(*command(name, finished), cwd=tmp_path), "recipe.toml", f"gradlab train {path} --out FOLDER")
    again = quick("train", path, "--out", "again", cwd=tmp_path)
    assert again.code == 0, again.err


@pytest.mark.parametrize("name", ["resume", "predict"])
def test_a_recipe_that_does_not_fit_its_checkpoints_is_refused(
    quick: ForkServer, unfinished: Path, tmp_path: Path, name: str
) -> None:
    recipe = (unfinished / "recipe.toml").read_text()
    edited = recipe.replace("    32,\n    32,\n", "    7,\n    32,\n")
    assert edited != recipe
    (unfinished / "recipe.toml").write_text(edited)
    accept_changes(unfinished)
    before = contents(unfinished / "checkpoints")
    check_refused(quick(*command(name, unfinished), cwd=tmp_path), str(unfinished))
    assert contents(unfinished / "checkpoints") == before


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_a_run_without_a_checkpoint_has_no_model_to_use(
    quick: ForkServer, finished: Path, tmp_path: Path, name: str
) -> None:
    shutil.rmtree(finished / "checkpoints")
    check_refused(quick(*command(name, finished), cwd=tmp_path), "no checkpoint", str(finished))


def test_a_stray_file_among_the_checkpoints_is_no_obstacle(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    (unfinished / "checkpoints" / "step-notes.txt").write_text("mine")
    ended = quick("resume", unfinished, cwd=tmp_path)
    assert "Traceback" not in ended.err
    assert ended.code == 0, ended.err
    assert (
        json.loads((unfinished / "result.json").read_text())["test"]
        == json.loads((reference / "result.json").read_text())["test"]
    )


def test_class_names_and_recipes_with_brackets_are_printed_as_they_are(quick: ForkServer, tmp_path: Path) -> None:
    import numpy as np

    x = np.random.default_rng(0).normal(size=(40, 2))
    np.savez(tmp_path / "data.npz", x=x, y=np.array(["[/b]", "[red]"] * 20))
    ended = quick("train", "npz", "train.epochs=1", "--data", "data.npz", "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    predicted = quick("predict", "run", "1,2", cwd=tmp_path)
    assert predicted.code == 0, predicted.err
    assert "[/b]" in predicted.out or "[red]" in predicted.out
    (tmp_path / "named.toml").write_text(
        'recipe = "[/x] mine"\n' + (tmp_path / "run" / "recipe.toml").read_text().split("\n", 1)[1]
    )
    named = quick("train", "named.toml", "--out", "second", cwd=tmp_path)
    assert named.code == 0, named.err
    assert "[/x] mine" in named.out
