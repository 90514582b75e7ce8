"""What is asked for is wrong: names, values, files. All of it is found before the first step, and nothing is left."""

from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, contents, gradlab

OVERRIDES = {
    "train.epochs=many": ["train.epochs=many", "int"],
    "train.epochs=2.5": ["train.epochs=2.5", "int"],
    "train.epochs=0": ["train.epochs=0", "≥ 1"],
    "train.steps=-5": ["train.steps=-5", "≥ 1"],
    "train.lr=fast": ["train.lr=fast", "float"],
    "train.lr=0": ["train.lr=0", "> 0"],
    "train.lr=-1": ["train.lr=-1", "> 0"],
    "train.lr=nan": ["train.lr=nan"],
    "train.lr=inf": ["train.lr=inf"],
    "train.batch_size=0": ["train.batch_size=0"],
    "train.batch_size=half": ["train.batch_size=half", "full"],
    "train.seed=-1": ["train.seed=-1", "≥ 0"],
    "train.seed=1e30": ["train.seed=1e30"],
    "train.seed=99999999999999999999999": ["train.seed"],
    "train.checkpoint_every=0": ["train.checkpoint_every=0"],
    "train.compile=maybe": ["train.compile=maybe", "auto", "on", "off"],
    "train.keep=worst": ["train.keep=worst", "best"],
    "model.hidden=12,x": ["model.hidden=12,x", "list of int"],
    "model.hidden=-3": ["model.hidden=-3"],
    "model.hidden=0": ["model.hidden=0"],
    "model.hidden=10000000000000": ["memory"],
    "model.dropout=1": ["model.dropout=1", "< 1"],
    "model.dropout=1.5": ["model.dropout=1.5", "< 1"],
    "model.batch_norm=perhaps": ["model.batch_norm=perhaps", "bool"],
    "data.validation=1": ["data.validation=1"],
    "data.test=0.9999": ["No example is left", "data.test"],
    "data.one_hot=colour": ["colour"],
    "data.limit=0": ["data.limit=0"],
    # Keys and names that are not there.
    "train.learning_rate=1": ["learning_rate"],
    "train.epoch=3": ["'epoch'", "Did you mean 'epochs'"],
    "train.optimizer.beta3=0": ["beta3", "Did you mean 'beta"],
    "train.optimizer.momentum=0.9": ["momentum", "beta1"],
    "train.lr.warmup=3": ["lr"],
    "model.hiden=3": ["'hiden'", "Did you mean 'hidden'"],
    "trian.lr=1": ["'trian'", "Did you mean 'train'"],
    "rl=1": ["'rl'", "Did you mean 'lr'"],
    "=1": ["Valid: data, model, task, train"],
    "train=1": ["train"],
    "model=mpl": ["'mpl'", "Did you mean 'mlp'"],
    "data=digit": ["'digit'", "Did you mean 'digits'"],
    "task=clasify": ["'clasify'", "Did you mean 'classify'"],
    "train.optimizer=adma": ["'adma'", "Did you mean 'adam'"],
    "train.schedule=cosin": ["'cosin'", "Did you mean 'cosine'"],
    "model.activation=rleu": ["'rleu'", "Did you mean 'relu'"],
    "train.epochs": ["train.epochs", "key=value"],
    "model.hidden": ["model.hidden", "key=value"],
    # Parts that do not fit together.
    "train.precision=fp8": ["train.precision=fp8 needs a GPU", "this run is on cpu", "train.precision=bf16"],
    "model=lenet": ["lenet", "12×12", "(1, 8, 8)"],
    "model=cifar-cnn": ["cifar-cnn", "16×16", "(1, 8, 8)", "larger images"],
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_a_bad_override_is_refused_with_what_would_be_right(quick: ForkServer, tmp_path: Path, override: str) -> None:
    ended = quick("train", "digits-mlp", override, "--out", "run", "--device", "cpu", cwd=tmp_path)
    check_refused(ended, *OVERRIDES[override])
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("train.batch_size=32", "train.batch_size=32"),
        ("train.compile=on", "train.compile=on"),
        ("train.precision=bf16", "bf16"),
        ("train.clip=1", "train.clip=1"),
        ("train.optimizer.iterations=0", "train.optimizer.iterations=0"),
    ],
)
def test_what_does_not_go_with_lbfgs_is_refused(quick: ForkServer, tmp_path: Path, setting: str, word: str) -> None:
    check_refused(quick("train", "iris-softmax", setting, "--out", "run", cwd=tmp_path), word)
    assert contents(tmp_path) == {}


def test_numbers_of_names_are_refused(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "iris-softmax", "task=regress", "--out", "run", cwd=tmp_path)
    check_refused(ended, "classes such as 'setosa', not numbers", "task=classify")
    assert contents(tmp_path) == {}


def test_classes_from_numbers_are_refused(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "linear-regression", "task=classify", cwd=tmp_path), "classes", "task=regress")
    assert contents(tmp_path) == {}


def test_a_warm_up_longer_than_the_run_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train.schedule=cosine", "train.schedule.warmup=10", "train.steps=5")
    check_refused(quick("train", "moons-mlp", *arguments, "--out", "run", cwd=tmp_path), "warmup=10", "5 steps")
    assert contents(tmp_path) == {}


def test_a_schedule_that_follows_the_validation_loss_needs_one(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ("train.schedule=plateau", "data.validation=0", "--out", "run")
    ended = quick("train", "digits-mlp", *arguments, cwd=tmp_path)
    check_refused(ended, "train.schedule=plateau", "no validation split")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("recipe", ["moons-mlp", "spirals-mlp", "digits-mlp"])
def test_a_seed_of_the_data_that_no_generator_takes_is_refused(quick: ForkServer, tmp_path: Path, recipe: str) -> None:
    ended = quick("train", recipe, "data.seed=99999999999999999999", "train.steps=1", "--out", "run", cwd=tmp_path)
    if ended.code:
        check_refused(ended, "seed")
        assert contents(tmp_path) == {}


def test_a_last_batch_of_one_with_batch_normalisation_trains_or_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    """Statistics of a single example have no spread: 33 examples in batches of 32 leave one over."""
    ended = quick("train", "digits-dropout", "data.limit=33", "train.epochs=1", "--out", "run", cwd=tmp_path)
    if ended.code:
        check_refused(ended, "batch")
        assert contents(tmp_path) == {}


def test_an_unknown_recipe_is_answered_with_the_closest_names(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "digit-mlp", "--out", "run", cwd=tmp_path)
    check_refused(ended, "'digit-mlp'", "Did you mean 'digits-mlp'")
    assert contents(tmp_path) == {}


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="this machine has what the test must not find")
def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    ended = gradlab("train", "digits-mlp", "--device", "cuda", "--out", "run", cwd=tmp_path)
    check_refused(ended, "--device cuda", "--device cpu")
    assert contents(tmp_path) == {}


SOUND = '[data]\nname = "moons"\n[model]\nname = "mlp"\n[task]\nname = "classify"\n'
TOML = {
    "does not parse": ("[data\nname = 1", ["is damaged", "line 1"]),
    "is empty": ("", ["[data]"]),
    "is not text": (b"\xff\xfe\x00", ["recipe.toml"]),
    "has no model": ('[data]\nname = "moons"\n[task]\nname = "classify"\n', ["[model]"]),
    "has a section too many": (SOUND + "[trian]\nlr = 1\n", ["trian", "Did you mean 'train'"]),
    "has a number for a section": ("train = 5\n" + SOUND, ["train", "table", "5"]),
    "has a list of tables for a section": (SOUND + "[[train]]\nlr = 1\n", ["train"]),
    "has a model without a name": (SOUND.replace('"mlp"', '"mlp"\n[train]').replace("name = ", "nome = ", 1), ["name"]),
    "has a number for a name": (SOUND.replace('"mlp"', "5"), ["[model]", "name"]),
    "has a table for a recipe's name": ("[recipe]\na = 1\n" + SOUND, ["recipe"]),
    "has text for a number": (SOUND + '[train]\nepochs = "many"\n', ["train.epochs=many", "int"]),
    "has a list for a number": (SOUND + "[train]\nepochs = [1, 2]\n", ["train.epochs", "int"]),
    "has a table for a number": (SOUND + "[train.epochs]\na = 1\n", ["train.epochs"]),
    "has a number for a list": (SOUND.replace('"mlp"', '"mlp"\nhidden = "wide"'), ["model.hidden=wide"]),
    "has a number for an optimiser": (SOUND + "[train]\noptimizer = 3\n", ["train.optimizer"]),
    "has a number for an optimiser's name": (SOUND + "[train.optimizer]\nname = 3\n", ["optimizer"]),
    "has an unknown optimiser": (SOUND + '[train]\noptimizer = "adm"\n', ["'adm'", "Did you mean 'adam'"]),
    "has an unknown key": (SOUND + "[train]\nepoch = 1\n", ["'epoch'", "Did you mean 'epochs'"]),
    "has a date for a rate": (SOUND + "[train]\nlr = 2020-01-01\n", ["train.lr"]),
    "has an infinite rate": (SOUND + "[train]\nlr = inf\n", ["train.lr=inf"]),
    "names a path outside": ('recipe = "../outside"\n' + SOUND + "[train]\nsteps = 1\n", ["../outside"]),
}


@pytest.mark.parametrize("fault", TOML)
def test_a_recipe_file_is_refused_that(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    text, words = TOML[fault]
    work = tmp_path / "work"
    work.mkdir()
    (work / "recipe.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = contents(tmp_path)
    check_refused(quick("train", "recipe.toml", cwd=work), *words)
    assert contents(tmp_path) == before


def test_a_recipe_file_that_is_missing_is_named(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "missing.toml", cwd=tmp_path), "missing.toml")
    (tmp_path / "folder.toml").mkdir()
    check_refused(quick("train", "folder.toml", cwd=tmp_path), "folder.toml")


@pytest.mark.parametrize("recipe", ["mnist-mlp", "npz"])
def test_a_recipe_that_needs_data_says_so(quick: ForkServer, tmp_path: Path, recipe: str) -> None:
    check_refused(quick("train", recipe, cwd=tmp_path), "data.path")
    assert contents(tmp_path) == {}


def test_data_for_a_recipe_that_brings_its_own_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("train", "digits-mlp", "--data", ".", cwd=tmp_path), "path")
    assert contents(tmp_path) == {}


OUT = {
    "below a file": "file/run",
    "where nobody can write": "/proc/run",
    "with a name too long for a file system": "x" * 300,
}


@pytest.mark.parametrize("where", OUT)
def test_an_out_that_cannot_be_made_is_refused(quick: ForkServer, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("in the way")
    before = contents(tmp_path)
    check_refused(quick("train", "iris-softmax", "train.epochs=1", "--out", OUT[where], cwd=tmp_path), OUT[where][:40])
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["ünï©ode with space", "[bold]x", "[red]", "a=b", "-dash"])
def test_a_run_folder_may_have_any_name(quick: ForkServer, tmp_path: Path, name: str) -> None:
    arguments = ("train", "iris-softmax", "train.epochs=1", f"--out={tmp_path / name}")
    ended = quick(*arguments, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / name / "report.html").is_file()
    assert str(tmp_path / name) in ended.out.replace("\n", "")
    again = quick("train", tmp_path / name / "recipe.toml", "--out=again", cwd=tmp_path)
    assert again.code == 0, again.err
    listed = quick("runs", ".", cwd=tmp_path)
    assert listed.code == 0, listed.err
    assert name in listed.out


def test_running_out_of_memory_is_told_in_a_line(quick: ForkServer, tmp_path: Path) -> None:
    # Weights of 4 TB: no machine that runs this test has room for them.
    ended = quick("train", "digits-mlp", "model.hidden=1000000,1000000", "--out", "run", cwd=tmp_path)
    assert ended.code in (1, 2)
    assert "memory" in ended.err
    assert "Traceback" not in ended.err


def test_a_key_of_a_task_that_is_not_decided_yet_is_answered_with_what_to_do(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "npz", "--data", "x.npz", "task.label_smoothing=0.1", cwd=tmp_path)
    check_refused(ended, "label_smoothing", "task=classify")


@pytest.mark.parametrize("arguments", [["train", "data.folds=LONG"], ["evaluate", "LONG"], ["predict", "LONG", "1"]])
def test_a_name_longer_than_any_file_has_is_refused(quick: ForkServer, tmp_path: Path, arguments: list[str]) -> None:
    check_refused(quick(*(a.replace("LONG", "9" * 5000) for a in arguments), cwd=tmp_path))
