"""What a newcomer types first does what is meant, or says the command to type."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import ForkServer, check_refused

from gradlab.cli.app import app

_ROWS = [f"2025-01-{i:02},{30 + i},{'north' if i % 3 else 'south'},{1000.5 * i:.1f}" for i in range(1, 29)]
_NODES = [f"n{i},{i % 5},{'xy'[i % 2]}" for i in range(20)]
_REVIEWS = [f"a review of {i} things that i saw,{'good' if i % 2 else 'bad'}" for i in range(30)]
_TARGET = "To predict a column from the others: gradlab train t.csv target=price"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, a graph, texts with classes and a text, as they come."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "net").mkdir()
    files = {
        "t.csv": ["day,area,district,price", *_ROWS],
        "net/nodes.csv": ["name,age,team", *_NODES],
        "net/edges.csv": ["a,b", *(f"n{i},n{i + 1}" for i in range(19))],
        "reviews.csv": ["review,label", *_REVIEWS],
        "notes.txt": _REVIEWS,
        "run/recipe.toml": [],
    }
    for name, lines in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


class Captured(Exception):
    """What a command hands on, in place of the work."""


def hand_on(*arguments: Any, **options: Any) -> None:
    raise Captured(arguments, options)


@pytest.fixture
def asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, ...]]:
    """`asked(function, *words)`: what a command with these words would hand to a function, in this process."""

    def run(function: str, *words: str) -> tuple[Any, ...]:
        monkeypatch.chdir(place)
        monkeypatch.setattr(function, hand_on)
        with pytest.raises(Captured) as captured:
            app(words, exit_on_error=False, print_error=False, result_action="return_value")
        return captured.value.args

    return run


@pytest.mark.parametrize(
    "words",
    [
        ["t.csv", "target=price"],
        ["t.csv", "--target", "price"],
        ["csv", "t.csv", "data.target=price"],
        ["csv", "t.csv", "target=price"],
        ["target=price", "--data", "t.csv"],
        ["--data", "t.csv", "--target", "price"],
    ],
)
def test_a_first_guess_is_the_training_that_is_meant(asked: Callable[..., tuple[Any, ...]], words: list[str]) -> None:
    (recipe, changes), options = asked("gradlab.api.prepare", "train", *words, "lr=0.1")
    assert (recipe, options["data"]) == ("csv", "t.csv")
    assert changes == {"data.target": "price", "train.lr": "0.1"}


def test_the_command_in_full_is_printed(quick: ForkServer, place: Path, tmp_path: Path) -> None:
    arguments = ["t.csv", "--target", "price", "steps=1", "doctor=off", "--out", tmp_path / "run"]
    ended = quick("train", *arguments, cwd=place)
    command = "gradlab train csv --data t.csv data.target=price train.steps=1 doctor=off"
    assert ended.out.splitlines()[0].split(None, 1) == ["command", command], ended.err


def test_a_command_that_is_full_is_not_repeated(quick: ForkServer, place: Path, tmp_path: Path) -> None:
    arguments = ["csv", "--data", "t.csv", "data.target=price", "train.steps=1", "--out", tmp_path / "run"]
    assert quick("train", *arguments, cwd=place).out.startswith("recipe ")


def test_json_of_a_first_guess_is_one_object(quick: ForkServer, place: Path, tmp_path: Path) -> None:
    ended = quick("train", "notes.txt", "steps=1", "context=8", "--out", tmp_path / "run", "--json", cwd=place)
    assert json.loads(ended.out)["recipe"] == "text-gpt", ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["t.csv"], ["columns day, area, district, price.", _TARGET, "gradlab train forecast --data t.csv time=day"]),
        (["csv", "t.csv"], ["columns day, area, district, price.", _TARGET]),
        (["forecast", "--data", "t.csv"], ["data.time must be given", "time=day target=price horizon=14"]),
        (["net"], ["columns name, age, team.", "gradlab train net/ target=team", "level=edge"]),
        (["reviews.csv"], ["columns review, label.", "gradlab train reviews.csv target=label"]),
        (["text-classifier", "reviews.csv"], ["data.text must be given", "gradlab train reviews.csv target=label"]),
        (["t.csv", "target=prise"], ["'prise'", "Did you mean 'price'"]),
        (["csv", "--data", "u.csv"], ["u.csv is not a file"]),
        (["u.csv"], ["no file or folder u.csv", "Did you mean t.csv"]),
        (["csv", "u.csv"], ["'u.csv' is neither", "nor a file here"]),
        (["t.csv", "target=price", "seed=3"], ["data.seed or train.seed"]),
        (["t.csv", "reviews.csv"], ["t.csv and reviews.csv both say"]),
        (["csv", "t.csv", "reviews.csv"], ["t.csv and reviews.csv are several data"]),
        (["run"], ["gradlab resume run", "gradlab train run/recipe.toml"]),
    ],
)
def test_a_guess_that_says_too_little_gets_the_command(
    quick: ForkServer, place: Path, arguments: list[str], words: list[str]
) -> None:
    check_refused(quick("train", *arguments, cwd=place), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["t.csv"],
            ["28 rows, 4 columns", "1000.5 to 28,014", "2025-01-01 to 2025-01-28", "train t.csv target=price"],
        ),
        (["csv", "--data", "t.csv"], ["28 rows, 4 columns", "train t.csv target=price"]),
        (["--data", "t.csv"], ["28 rows, 4 columns", "train t.csv target=price"]),
        (["net"], ["20 rows, 3 columns", "train net/ target=team"]),
        (["notes.txt"], ["30", "train notes.txt"]),
    ],
)
def test_data_are_shown_by_their_path_alone(
    quick: ForkServer, place: Path, arguments: list[str], words: list[str]
) -> None:
    ended = quick("data", "show", *arguments, "--plain", "--out", "page.html", cwd=place)
    assert ended.code == 0, ended.err
    for word in words:
        assert word in ended.out, ended.out


def test_json_of_a_table_has_columns_rows_and_commands(quick: ForkServer, place: Path) -> None:
    shown = json.loads(quick("data", "show", "t.csv", "--json", cwd=place).out)
    assert [column["kind"] for column in shown["columns"]] == ["date", "number", "category", "number"]
    assert (shown["rows"], shown["head"][0]) == (28, _ROWS[0].split(","))
    assert "gradlab train t.csv target=price" in shown["commands"].values()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("gradlab.studies.vary.vary", ["train", "t.csv", "target=price", "--vary", "lr=1e-3,1e-2"]),
        ("gradlab.studies.sweep.sweep", ["sweep", "t.csv", "lr=1e-3,1e-2"]),
    ],
)
def test_short_keys_are_varied_and_searched(
    asked: Callable[..., tuple[Any, ...]], function: str, words: list[str]
) -> None:
    (recipe, knobs, *_), options = asked(function, *words)
    assert (recipe.name, recipe.data.values["path"], knobs) == ("csv", "t.csv", {"train.lr": "1e-3,1e-2"})
    assert options["command"].startswith("gradlab train csv --data t.csv")
