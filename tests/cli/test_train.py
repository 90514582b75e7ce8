"""`gradlab train`: by name, from a file, with values changed."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import (
    ForkServer,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    contents,
    gradlab,
    lines,
    losses,
)

RESULT_KEYS = ["run", "recipe", "steps", "seconds", "parameters", "validation", "test", "findings", "best_baseline"]


def recipe_of(run: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads((run / "recipe.toml").read_text())


def test_json_prints_one_object_and_nothing_else(digits: Path) -> None:
    printed = json.loads((digits.parent / "stdout.json").read_text())
    assert list(printed) == RESULT_KEYS
    result = json.loads((digits / "result.json").read_text())
    assert printed == {key: result[key] for key in RESULT_KEYS}
    assert printed["run"] == "digits"
    assert printed["recipe"] == "digits-mlp"


def test_digits_mlp_reaches_97_percent_on_the_test_split(digits: Path) -> None:
    result = json.loads((digits / "result.json").read_text())
    assert result["test"]["accuracy"] >= 0.97
    assert result["baseline"]["test"]["accuracy"] < 0.2


def test_a_finished_run_is_a_folder_of_readable_files(digits: Path) -> None:
    expected = {"recipe.toml", "environment.json", "data.json", "metrics.jsonl", "result.json", "report.html"}
    visible = {path.name for path in digits.iterdir() if not path.name.startswith(".")}
    assert visible == {*expected, "checkpoints", "SHA256SUMS"}
    assert {path.name for path in digits.parent.iterdir()} == {"digits", "stdout.json", ".lock"}
    assert (digits / "report.html").read_text()[:15].lower() == "<!doctype html>"
    environment = json.loads((digits / "environment.json").read_text())
    assert environment["threads"] >= 1
    assert environment["device"] in ("cpu", "cuda", "mps")
    assert "train digits-mlp" in environment["command"]


def test_checkpoints_pass_sha256sum(digits: Path) -> None:
    assert 1 <= len(checkpoints(digits)) <= 3
    check_sound(digits)


def test_every_line_of_the_metrics_log_says_step_epoch_split_and_loss(digits: Path) -> None:
    for line in lines(digits):
        assert {"step", "epoch", "split", "loss"} <= set(line)
    assert {line["split"] for line in lines(digits)} == {"train", "train-sample", "validation"}
    order = [line["step"] for line in lines(digits)]
    assert order == sorted(order)
    assert len(set(losses(digits))) == len(losses(digits))
    last = lines(digits)[-1]
    result = json.loads((digits / "result.json").read_text())
    assert last["step"] == result["steps"]
    assert last["epoch"] == 30


OVERRIDES = {
    "train.steps": ("6", 6),
    "train.lr": ("3e-3", 0.003),
    "train.batch_size": ("64", 64),
    "train.seed": ("7", 7),
    "train.checkpoint_every": ("2", 2),
    "train.compile": ("off", "off"),
    "train.log_every": ("3", 3),
    "train.optimizer.beta1": ("0.8", 0.8),
    "model.hidden": ("32,16", [32, 16]),
    "model.activation": ("leaky-relu", "leaky_relu"),
    "model.dropout": ("0.25", 0.25),
    "model.norm": ("batch", "batch"),
    "data.validation": ("0.1", 0.1),
}


@pytest.fixture(scope="module")
def overridden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with many values changed at once."""
    folder = tmp_path_factory.mktemp("overridden")
    pairs = [f"{key}={text}" for key, (text, _) in OVERRIDES.items()]
    ended = gradlab("train", "digits-mlp", *pairs, "--out", "run", "--device", "cpu", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout").write_text(ended.out)
    return folder / "run"


@pytest.mark.parametrize("key", OVERRIDES)
def test_an_override_is_in_the_resolved_recipe(overridden: Path, key: str) -> None:
    value: object = recipe_of(overridden)
    for name in key.split("."):
        assert isinstance(value, dict)
        value = value[name]
    if isinstance(value, dict):  # a part with knobs of its own
        value = value["name"]
    assert value == OVERRIDES[key][1]


def test_overrides_change_what_is_trained(overridden: Path) -> None:
    result = json.loads((overridden / "result.json").read_text())
    dense = 64 * 32 + 32 + 32 * 16 + 16 + 16 * 10 + 10
    assert result["parameters"] == dense + 2 * 32 + 2 * 16  # batch normalisation has a gain and a shift for each unit
    assert result["steps"] == 6
    assert [path.name for path in checkpoints(overridden)] == ["step-00000002", "step-00000004", "step-00000006"]
    assert [line["step"] for line in lines(overridden) if line["split"] == "train"] == [3, 6]
    assert [line["lr"] for line in lines(overridden) if line["split"] == "train"] == [0.003, 0.003]


def test_the_resolved_recipe_holds_every_value_that_has_one(overridden: Path, quick: ForkServer) -> None:
    knobs = quick("recipes", "digits-mlp", "--json", cwd=overridden.parent).json["knobs"]
    recipe = recipe_of(overridden)
    for knob in knobs:
        section, *path = knob["key"].split(".")
        if knob["value"] is None or not path or path[0] in ("activation", "optimizer", "schedule"):
            continue
        assert path[0] in recipe[section], knob["key"]


def test_piped_output_has_no_escape_codes(overridden: Path) -> None:
    text = (overridden.parent / "stdout").read_bytes()
    assert b"\x1b" not in text
    assert b"\r" not in text
    assert b"digits-mlp" in text
    assert b"baseline" in text


def test_plain_output_has_no_escape_codes_though_colours_are_forced(tmp_path: Path) -> None:
    from cli_helpers import environment

    forced = environment(FORCE_COLOR="1", TERM="xterm-256color")
    arguments = ("train", "moons-mlp", "train.steps=3", "--out", "run", "--plain")
    ended = gradlab(*arguments, cwd=tmp_path, env=forced)
    assert ended.code == 0
    assert "\x1b" not in ended.out + ended.err
    assert "\r" not in ended.out + ended.err


def test_epochs_count_passes_over_the_training_split(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train", "iris-softmax", "train.epochs=4", "--out", "run", "--json")
    assert quick(*arguments, cwd=tmp_path).json["steps"] == 4  # the batch is the whole split


def test_without_a_name_the_default_recipe_is_trained_into_runs(quick: ForkServer, tmp_path: Path) -> None:
    printed = quick("train", "train.steps=2", "--json", cwd=tmp_path).json
    assert printed["recipe"] == "digits-mlp"
    assert re.fullmatch(r"runs/digits-mlp-[0-9a-f]{4}", printed["run"])
    assert (tmp_path / printed["run"] / "result.json").is_file()


def test_a_hand_written_toml_file_is_trained(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[data]\nname = "moons"\nexamples = 200\n[model]\nname = "mlp"\nhidden = [4]\n[task]\nname = "classify"\n'
        '[train]\nsteps = 5\n[train.optimizer]\nname = "momentum"\nmomentum = 0.5\n'
    )
    printed = quick("train", "mine.toml", "train.lr=0.5", "--out", "run", "--json", cwd=tmp_path).json
    assert printed["recipe"] == "mine"
    assert printed["parameters"] == 2 * 4 + 4 + 4 * 2 + 2
    recipe = recipe_of(tmp_path / "run")
    assert recipe["train"]["optimizer"] == {"name": "momentum", "momentum": 0.5, "form": "sum"}
    assert recipe["train"]["lr"] == 0.5


def test_training_the_recipe_of_a_run_again_gives_the_same_bits(digits: Path, tmp_path: Path) -> None:
    ended = gradlab("train", digits / "recipe.toml", "--out", "again", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_same(tmp_path / "again", digits)
    assert (tmp_path / "again" / "recipe.toml").read_text() == (digits / "recipe.toml").read_text()


def test_another_seed_gives_other_losses(quick: ForkServer, tmp_path: Path) -> None:
    for seed in (0, 1):
        arguments = ("train", "moons-mlp", "train.steps=5", f"train.seed={seed}", "--out", f"run{seed}", "--json")
        assert quick(*arguments, cwd=tmp_path).code == 0
    assert losses(tmp_path / "run0") != losses(tmp_path / "run1")


@pytest.mark.parametrize("what", ["a run", "an empty folder", "a file"])
def test_an_existing_out_is_refused_and_left_as_it_is(quick: ForkServer, iris: Path, tmp_path: Path, what: str) -> None:
    if what == "a run":
        shutil.copytree(iris, tmp_path / "taken")
    elif what == "an empty folder":
        (tmp_path / "taken").mkdir()
    else:
        (tmp_path / "taken").write_text("precious")
    before = contents(tmp_path)
    check_refused(quick("train", "iris-softmax", "--out", "taken", cwd=tmp_path), "taken", "exists")
    assert contents(tmp_path) == before


def test_a_run_without_test_and_validation_examples_ends_well(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train", "iris-softmax", "train.epochs=2", "data.test=0", "data.validation=0", "--out", "run")
    ended = quick(*arguments, cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["test"] == result["validation"] == {}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_run_reproduces_itself(tmp_path: Path) -> None:
    arguments = ("train", "digits-mlp", "train.compile=on", "train.steps=30", "--json")
    for name in ("first", "second"):
        ended = gradlab(*arguments, "--out", name, cwd=tmp_path)
        assert ended.code == 0, ended.err
    check_same(tmp_path / "first", tmp_path / "second")
    assert json.loads((tmp_path / "first" / "environment.json").read_text())["step"] == "compiled"


@pytest.mark.parametrize(
    ("given", "knob"),
    [
        (["--epochs", "5"], "without dashes: epochs=5"),
        (["--batch-size=7"], "without dashes: batch_size=7"),
        (["--lr", "--plain"], "without dashes: lr=VALUE"),
        (["--hidden", "5"], "without dashes: hidden=5"),
        (["--depths", "5"], "Try: gradlab train --help"),
    ],
)
def test_an_option_that_is_a_knob_is_answered_with_it(
    quick: ForkServer, tmp_path: Path, given: list[str], knob: str
) -> None:
    ended = quick("train", "digits-mlp", *given, cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.strip().endswith(knob)


@pytest.mark.parametrize(("model", "lr", "advised"), [("mlp", 0.03, True), ("linear", 0.3, False)])
def test_no_knob_is_advised_that_the_model_does_not_have(
    quick: ForkServer, tmp_path: Path, model: str, lr: float, advised: bool
) -> None:
    """Classes by chance, learned by heart: dropout would help, where the model has it."""
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=draw.normal(size=(80, 200)), y=draw.integers(0, 2, 80))
    plan = ["train.epochs=60", f"train.lr={lr}", "train.keep=last"]
    ended = quick("train", "npz", "--data", "data.npz", f"model={model}", *plan, "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    findings = json.loads((tmp_path / "run" / "result.json").read_text())["findings"]
    (found,) = (finding for finding in findings if finding["slug"] == "overfitting")
    assert ("model.dropout=0.2" in found["fix"]) == advised
    assert found["fix"].startswith("train.keep=best train.patience=5")
