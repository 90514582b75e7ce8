"""What can be wrong with a file that somebody brings: one message, with a line of that file, and nothing is lost."""

import json
import re
import shlex
from pathlib import Path

import pytest
from cli_helpers import (
    ForkServer,
    accept_changes,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    contents,
    gradlab,
)
from own_files import CLOUDS, PAIRS, STREAM

LOSS = 'return F.cross_entropy(scores, torch.arange(len(scores)), reduction="sum"), len(scores)'
METRIC = "return (scores.argmax(1) == torch.arange(len(scores))).double()"
OBJECTIVES = 'return {"infonce": gl.Objective(loss=self.infonce)}'
BUILDER = "def twins(inputs: Pair, outputs, *, width: int = 8, dropout: float = 0.1):"
PARTS = '{"first": first, "second": second}'
PAIR = "must return (sum, count)"


def at_lines(words: list[str], file: Path) -> list[str]:
    """Words as they are told: `> ` and the beginning of a line of the file stand for that line and its number."""
    lines = file.read_text().splitlines()

    def told(word: str) -> str:
        if not word.startswith("> "):
            return word
        number = next(i for i, line in enumerate(lines, 1) if line.strip().startswith(word[2:]))
        return f"line {number}: {lines[number - 1].strip()!r}"

    return [told(word) for word in words]


# By what is wrong: what of the file is replaced, by what, and what is told.
FILES = {
    # The file itself.
    "does not parse": ("import numpy as np", "x = = 3", ["mine.py does not run: line 1: 'x = = 3'", "invalid syntax"]),
    "is indented": ("import numpy as np", "  x = 3", ["line 1: 'x = 3'", "IndentationError"]),
    "holds a null": ("import numpy as np", "x = '\0'", ["mine.py does not run", "null bytes"]),
    "fails in a function that is called at once": (
        "import numpy as np",
        "def early():\n    return misspelt + 1\n\n\nearly()",
        ["mine.py does not run: line 2: 'return misspelt + 1'", "NameError: name 'misspelt' is not defined"],
    ),
    "lacks a module": ("import numpy as np", "import numpi", ["line 1: 'import numpi'", "No module named 'numpi'"]),
    "fails inside of a library": (
        "import numpy as np",
        "import numpy as np\nnp.zeros(-1)",
        ["line 2: 'np.zeros(-1)'", "ValueError: negative dimensions are not allowed"],
    ),
    "ends Python": ("import numpy as np", "raise SystemExit(0)", ["line 1: 'raise SystemExit(0)'", "SystemExit"]),
    "registers nothing": (PAIRS, "x = 3\n", ["mine.py registers nothing", "@gradlab.register.recipe"]),
    "has no recipe": ("@gl.register.recipe", "", ["mine.py has no recipe", "--code mine.py"]),
    # Names.
    "takes a name of ours": (
        '"twins"',
        '"mlp"',
        ['> @gl.register.model("mlp")', "There is a model named 'mlp' already"],
    ),
    "takes a recipe's name of ours": ("my_pairs", "digits_mlp", ["There is a recipe named 'digits-mlp' already"]),
    "registers a name twice": (
        "@gl.register.recipe",
        '@gl.register.model("twins")\ndef other(inputs, outputs): ...\n\n\n@gl.register.recipe',
        ["There is a model named 'twins' in", "mine.py"],
    ),
    "registers without a name": ('model("twins")', "model", ["needs a name: @gradlab.register.model(NAME)"]),
    "names a recipe": ("recipe\n", 'recipe("x")\n', ["@gradlab.register.recipe stands alone"]),
    # The recipe.
    "has a recipe that is none": ("return gl.Recipe(", "gl.Recipe(", ["must return a gradlab.Recipe", "returned None"]),
    "has a recipe that raises": (
        'Recipe("my-pairs"',
        "Recipe(1 / 0",
        ["> return gl.Recipe(1 / 0", "ZeroDivisionError"],
    ),
    "has a recipe of something": ("my_pairs()", "my_pairs(x)", ["a function without arguments", "'x'"]),
    "has a recipe of an unknown model": ('"twins", "match"', '"twin", "match"', ["'twin'", "Did you mean 'twins'"]),
    "has a recipe of unknown data": ('"views", "twins"', '"view", "twins"', ["'view'", "Did you mean 'views'"]),
    "has a recipe of an unknown task": ('"match", {', '"mach", {', ["'mach'", "Did you mean 'match'"]),
    "has a recipe with an unknown key": ('"epochs"', '"epoch"', ["'epoch'", "Did you mean 'epochs'"]),
    "has a recipe with a bad value": ('"lr": 0.01', '"lr": -1', ["train.lr=-1", "float > 0"]),
    "has a recipe whose plan is none": (
        '{"epochs": 3, "batch_size": 8, "lr": 0.01}',
        "5",
        ["train must be a dictionary"],
    ),
    "has a recipe of a part that is none": ('"views", "twins"', '"views", 7', ["my-pairs: model must be a name", "7"]),
    # Objectives.
    "returns a bare loss": (LOSS, LOSS.removesuffix(", len(scores)"), [PAIR, "'infonce'", "a tensor of shape ()"]),
    "returns three things": (LOSS, LOSS + ", 3", [PAIR, "(a tensor of shape (), 2, 3)"]),
    "returns text": (LOSS, 'return "low"', [PAIR, "returned 'low'"]),
    "returns nothing": (LOSS, "pass", [PAIR, "returned None"]),
    "returns no loss at all": (LOSS, "return {}", ["'infonce' returned no loss at all"]),
    "returns a loss for each": (LOSS, LOSS.replace('"sum"', '"none"'), [PAIR, "(a tensor of shape (2,), 2)"]),
    "returns whole numbers": (LOSS, "return scores.argmax(), 2", [PAIR, "type int64"]),
    "counts below zero": (LOSS, LOSS.replace(", len(scores)", ", -1"), [PAIR, "-1"]),
    "counts below zero on the device": (
        LOSS,
        LOSS.removesuffix("len(scores)") + "torch.tensor(-3)",
        ["'infonce'", "a count of -3"],
    ),
    "counts in parts": (LOSS, LOSS.replace(", len(scores)", ", 2.5"), [PAIR, "2.5"]),
    "counts by yes and no": (LOSS, LOSS.replace(", len(scores)", ", True"), [PAIR, "True"]),
    "has no gradient": (LOSS, "scores = scores.detach()\n        " + LOSS, ["'infonce' has no gradient", "detached"]),
    "does not depend on the model": (LOSS, 'return batch["first"].sum(), 1', ["'infonce' has no gradient"]),
    "says nothing of what is minimised": ("def objectives", "def goals", ["Match", "write its method `objectives`"]),
    "minimises nothing": (OBJECTIVES, "return {}", ["at least one gradlab.Objective", "returned {}"]),
    "has an objective without a name": (OBJECTIVES, "return gl.Objective(loss=self.infonce)", ["each by its name"]),
    "has a function for an objective": (OBJECTIVES, 'return {"infonce": self.infonce}', ["gradlab.Objective"]),
    "has an objective without a loss": (OBJECTIVES, OBJECTIVES.replace("self.infonce", "None"), ["> return {", "None"]),
    "moves what is not there": (
        OBJECTIVES,
        OBJECTIVES.replace("infonce)", 'infonce, moves="tower")'),
        ["'infonce' moves no parameter", "'tower'"],
    ),
    "groups by an unknown key": (
        OBJECTIVES,
        OBJECTIVES.replace("infonce)", 'infonce, groups={"0": {"rate": 1}})'),
        ["The group '0' cannot have a rate", "lr, weight_decay"],
    ),
    "groups by text": (
        OBJECTIVES,
        OBJECTIVES.replace("infonce)", 'infonce, groups={"0": {"lr": "fast"}})'),
        ["group 0.lr=fast", "float > 0"],
    ),
    "groups what is not there": (
        OBJECTIVES,
        OBJECTIVES.replace("infonce)", 'infonce, groups={"7": {"lr": 1}})'),
        ["no parameter to train in the group '7'"],
    ),
    "plans what an objective cannot": (
        OBJECTIVES,
        OBJECTIVES.replace("infonce)", 'infonce, train={"epochs": 3})'),
        ["'infonce' cannot have a epochs"],
    ),
    "raises in its objective": (LOSS, LOSS + " // 0", ["> return F.cross_entropy", "ZeroDivisionError"]),
    "asks for a part that a batch has not": (
        '("first", "second")',
        '("first", "third")',
        ["> first, second = (F.", "KeyError: 'third'"],
    ),
    # Metrics and criterion.
    "measures in words": (METRIC, 'return "good"', ["The metric 'found' must return its mean", "'good'"]),
    "measures in two axes": (METRIC, "return scores", ["The metric 'found' must return", "shape (2, 2)"]),
    "raises in its metric": (METRIC, METRIC[:-8] + "dubble()", ["> return (scores.argmax", "'dubble'"]),
    "names a metric as its loss": ('"found": self', '"infonce": self', ["cannot be named 'infonce'"]),
    "judges by what is not given": ('Criterion("found"', 'Criterion("fond"', ["'fond'", "loss, infonce, found"]),
    # The model.
    "has a builder that raises": (
        BUILDER,
        BUILDER + '\n    raise KeyError("width")',
        ['> raise KeyError("width")', "KeyError: 'width'"],
    ),
    "has a builder that returns nothing": (
        "return nn.Sequential",
        "nn.Sequential",
        ["'twins' must give a Module", "None"],
    ),
    "has a builder of too little": (BUILDER, "def twins(inputs):", ["a function of (inputs, outputs)", "too many"]),
    "has a builder of nothing": (BUILDER, "def twins():", ["a function of (inputs, outputs)"]),
    "has a builder of too much": (BUILDER, "def twins(inputs, outputs, x):", ["(inputs, outputs)", "'x'"]),
    "has knobs that are none": (
        BUILDER,
        "def twins(inputs, outputs, *, width: nn.Module = 8):",
        ["model.width", "Module"],
    ),
    "has knobs without a default": (
        BUILDER,
        "def twins(inputs, outputs, *, width: int):",
        ["model.width must be given."],
    ),
    "has an annotation of nothing": ("inputs: Pair", 'inputs: "Pear"', ["annotations of twins", "'Pear'"]),
    "has a model that does not fit together": (
        "nn.Linear(width, 4)",
        "nn.Linear(width + 1, 4)",
        ["> first, second = (F.", "RuntimeError: mat1 and mat2"],
    ),
    "has a model without parameters": (
        "return nn.Sequential(first, nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 4))",
        "return nn.Identity()",
        ["The model has no parameter to train"],
    ),
    # The data.
    "has parts of different lengths": (
        PARTS,
        PARTS.replace("second}", "second[1:]}"),
        ["> pairs = gl.Examples(", "first has 60, second has 59"],
    ),
    "has no parts": (PARTS, "{}", ["there are no parts"]),
    "has arrays for tensors": (PARTS, PARTS.replace("second}", "second.numpy()}"), ["'second'", "a tensor", "ndarray"]),
    "has lists for tensors": (PARTS, PARTS.replace("second}", "[0] * 60}"), ["'second'", "a tensor", "list"]),
    "has data without a spec": (
        ", spec=Pair(Table(4), Table(4))",
        "",
        ["> return gl.Dataset.of(", "missing 1 required keyword-only argument: 'spec'"],
    ),
    "has a shape for a spec": ("spec=Pair(Table(4), Table(4))", "spec=(4,)", ["gradlab.specs.Table", "(4,)"]),
    "has data that are none": ("return gl.Dataset", "gl.Dataset", ["must give a Dataset", "None"]),
    "has no examples to learn from": ("(0, 40)", "(0, 0)", ["the training split has no examples"]),
    "has a list to learn from": ("Dataset.of(train", "Dataset.of([1, 2]", ["Examples or a Stream", "[1, 2]"]),
    "has something to judge by that has no length": (
        "Dataset.of(train, validation",
        "Dataset.of(train, object()",
        ["The validation split, a object, has no length"],
    ),
    "has data that its model does not take": ('"views", "twins"', '"digits", "twins"', ["takes pairs", "data=digits"]),
    "has a task of ours for its data": (
        '"twins", "match"',
        '"twins", "regress"',
        ["inputs and targets", "first, second"],
    ),
    # The task.
    "has a task of nothing": (
        "def __init__(self, targets, *",
        "def __init__(self, *",
        ["task 'match' must be a function of (targets)"],
    ),
    "has a task that raises": ("= temperature\n", "= temperatur\n", ["> self.temperature = ", "'temperatur'"]),
    "has a task that is none": (
        '@gl.register.task("match")',
        '@gl.register.task("match")\ndef match(targets): ...\n\n',
        ["'match' must give a Task", "None"],
    ),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_file_is_refused_that(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    old, new, words = FILES[fault]
    assert PAIRS.count(old) >= 1
    (tmp_path / "mine.py").write_text(PAIRS.replace(old, new, 1))
    before = contents(tmp_path)
    ended = quick("train", "mine.py", "--out", "run", cwd=tmp_path)
    check_refused(ended, *at_lines(words, tmp_path / "mine.py"))
    assert len(ended.err.splitlines()) == 1
    assert "src/gradlab" not in ended.err  # nobody is shown a line of ours
    assert contents(tmp_path) == before


RAWS = {
    "has no Raw": ("return gl.Raw", "gl.Raw", ["must give a Raw", "None"]),
    "gives a Raw for a Dataset": ("register.data(", "register.dataset(", ["must give a Dataset", "register.data."]),
    "has more targets than inputs": (
        "targets=y,",
        "targets=y[1:],",
        ["> return gl.Raw(", "90 inputs but 89 targets"],
    ),
    "has classes that are no numbers": ("targets=y,", "targets=y / 2,", ["from 0 to 2", "float64"]),
    "has fewer classes than targets": ('"here", "east", "north"', '"here", "east"', ["from 0 to 1", "from 0 to 2"]),
    "has inputs that are no numbers": ("10 * draw", "float('nan') * draw", ["> return gl.Raw(", "nan in row 0"]),
    "has a list of inputs": ("inputs=places[y]", "inputs=[1, 2], features=places[y]", ["> return gl.Raw("]),
}


@pytest.mark.parametrize("fault", RAWS)
def test_raw_data_are_refused_that(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    old, new, words = RAWS[fault]
    assert CLOUDS.count(old) == 1
    (tmp_path / "mine.py").write_text(CLOUDS.replace(old, new))
    before = contents(tmp_path)
    ended = quick("train", "mine.py", "--out", "run", cwd=tmp_path)
    check_refused(ended, *at_lines(words, tmp_path / "mine.py"))
    assert contents(tmp_path) == before


STREAMS = {
    "gives no batches": ("def batches", "def batch", ["Endless gives no batches", "`batches`"]),
    "has no epochs": ("    steps_per_epoch = 10\n", "", ["`steps_per_epoch`"]),
    "has empty epochs": ("steps_per_epoch = 10", "steps_per_epoch = 0", ["`steps_per_epoch`"]),
}


@pytest.mark.parametrize("fault", STREAMS)
def test_a_stream_is_refused_that(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    old, new, words = STREAMS[fault]
    (tmp_path / "mine.py").write_text(STREAM.replace(old, new))
    before = contents(tmp_path)
    check_refused(quick("train", "mine.py", "--out", "run", cwd=tmp_path), *words)
    assert contents(tmp_path) == before


CODES = {
    "missing.py": "missing.py cannot be read: No such file",
    "folder.py": "folder.py cannot be read: Is a directory",
    "folder": "folder cannot be read: Is a directory",
    "notes.txt": "notes.txt is no Python file",
    "bytes.py": "bytes.py does not run: ",
    "zeros.py": "zeros.py does not run: ",
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("command", [["train", "iris-softmax"], ["evaluate", "run"], ["sweep", "iris-softmax"]])
def test_what_is_no_code_is_told(quick: ForkServer, tmp_path: Path, command: list[str], code: str) -> None:
    for name in ("folder.py", "folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").write_text("")
    (tmp_path / "notes.txt").write_text("import gradlab")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "zeros.py").write_bytes(bytes(64))
    before = contents(tmp_path)
    check_refused(quick(*command, "--code", code, cwd=tmp_path), CODES[code])
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["missing.py", "folder.py", "missing.py:one"])
def test_what_is_no_file_of_recipes_is_told(quick: ForkServer, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.py").mkdir()
    check_refused(quick("train", name, cwd=tmp_path), f"The code file {name.removesuffix(':one')} cannot be read")


# What fails when training has begun.

CALLS = "\n\nCALLS = []\n"
EVERY = ["train.steps=60", "train.checkpoint_every=10", "train.evaluate_every=8", "train.log_every=5"]


def late(line: str, after: int, when: str = "model.training") -> str:
    """Code before a line, which raises when it has been run so many times while the model trains, or else is judged."""
    check = (
        f"if {when}:\n            CALLS.append(1)\n        if len(CALLS) > {after}:\n            return CALLS[3][3]\n"
    )
    return f"{check}        {line}"


TIRED = """
class Tired(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, x):
        CALLS.append(self.training)
        if sum(CALLS) > 70:
            raise OSError("too tired")
        return self.inside(x)


@gl.register.recipe
"""

LATE = {
    "in the objective": (
        LOSS,
        late(LOSS, 34),
        "return CALLS[3][3]",
        "TypeError: 'int' object is not subscriptable",
        30,
    ),
    "in the metric": (METRIC, late(METRIC, 6, "not model.training"), "return CALLS[3][3]", "TypeError", 10),
    "in the model": (
        "@gl.register.recipe\n",
        TIRED,
        'raise OSError("too tired")',
        "OSError: too tired",
        30,
    ),
    "in the first step": (LOSS, late(LOSS, 0), "return CALLS[3][3]", "IndexError: list index out of range", None),
}


@pytest.mark.parametrize("where", LATE)
def test_own_code_that_fails_while_it_trains_is_told_and_the_run_goes_on_when_it_is_mended(
    quick: ForkServer, tmp_path: Path, where: str
) -> None:
    old, new, line, words, kept = LATE[where]
    text = PAIRS.replace(old, new, 1) + CALLS
    if where == "in the model":
        text = text.replace("return nn.Sequential(first", "return Tired(nn.Sequential(first").replace(
            "4))\n", "4)))\n", 1
        )
    (tmp_path / "mine.py").write_text(text)
    ended = quick("train", "mine.py", *EVERY, "--out", "run", "--json", cwd=tmp_path)
    [told] = at_lines([f"> {line}"], tmp_path / "mine.py")
    check_refused(ended, f"gradlab: mine.py, {told}. {words}", code=1)
    assert "Traceback" not in ended.err
    assert len(ended.err.splitlines()) == 1
    check_sound(tmp_path / "run")
    saved = [path.name for path in checkpoints(tmp_path / "run")]
    if kept is None:
        assert saved == []
        assert "No checkpoint had been saved" in ended.err
    else:
        assert saved[-1] == f"step-{kept:08d}"
        assert f"The checkpoint of step {kept} is kept" in ended.err
    assert not (tmp_path / "run" / "result.json").exists()

    mended = re.sub(r"if (len|sum)\(CALLS\) > \d+", "if False", text)
    assert mended != text
    (tmp_path / "mine.py").write_text(mended)
    command = shlex.split(ended.err.split("When that is repaired: gradlab ")[1])
    assert command == ["resume", "run", "--code", "mine.py", "--changed-code"]
    assert quick(*command, cwd=tmp_path).code == 0
    assert quick("train", "mine.py", *EVERY, "--out", "whole", "--json", cwd=tmp_path).code == 0
    check_same(tmp_path / "run", tmp_path / "whole")


def test_a_stream_that_fails_while_it_trains_is_told(quick: ForkServer, tmp_path: Path) -> None:
    text = STREAM.replace(
        "            yield batch(step)", "            yield batch(step) if step < 25 else batch('last')"
    )
    (tmp_path / "mine.py").write_text(text)
    ended = quick("train", "mine.py", "train.checkpoint_every=10", "--out", "run", cwd=tmp_path)
    words = ["> x = torch.randn(8, 2", "RuntimeError: ", "The checkpoint of step 20 is kept"]
    check_refused(ended, *at_lines(words, tmp_path / "mine.py"), code=1)


def test_a_stream_that_ends_early_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STREAM)
    command = ("train", "mine.py", "data.end=7", "train.checkpoint_every=5", "--out", "run")
    check_refused(quick(*command, cwd=tmp_path), "ended after 7 batches", "30 steps", code=1)
    assert [path.name for path in checkpoints(tmp_path / "run")] == ["step-00000005"]


def test_a_batch_whose_parts_differ_is_told_when_it_is_cut(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STREAM.replace('"y": x.sum(1, keepdim=True)', '"y": x.sum(1, keepdim=True)[:4]'))
    text = (tmp_path / "mine.py").read_text().replace("gl.Examples(batch(10**9), np.arange(8))", "()")
    (tmp_path / "mine.py").write_text(text)
    ended = quick("train", "mine.py", "train.accumulate=2", "--out", "run", cwd=tmp_path)
    check_refused(ended, "the same number of examples", "x (8, 2) float32, y (4, 1) float32", code=1)


def test_a_metric_that_is_no_number_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS.replace(METRIC, METRIC + " * float('nan')"))
    ended = quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path)
    check_refused(ended, "The metric 'found' gave NaN", code=1)


def test_a_loss_that_counts_nothing_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS.replace(LOSS, LOSS.replace(", len(scores)", ", 0")))
    check_refused(quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path), "every count", "was 0", code=1)


def test_one_of_several_losses_may_count_nothing_now_and_then(quick: ForkServer, tmp_path: Path) -> None:
    several = 'rare = batch["first"][:, 0] > 1.5\n        ' + LOSS.replace("return ", "whole = ")
    several += '\n        return {"whole": whole, "rare": (scores[rare].sum() * 1e-3, rare.sum())}'
    (tmp_path / "mine.py").write_text(PAIRS.replace(LOSS, several))
    ended = quick("train", "mine.py", "train.log_every=1", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["loss"] == pytest.approx(
        sum(ended.json["test"].get(name, 0.0) for name in ("whole", "rare"))
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    counted = ["rare" in line for line in lines if line["split"] == "train"]
    assert any(counted)
    assert not all(counted)


def test_own_code_that_fails_when_a_run_is_used_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS)
    assert quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path).code == 0
    (tmp_path / "mine.py").write_text(PAIRS.replace(METRIC, METRIC[:-8] + "dubble()"))
    ended = quick("evaluate", "run", "--code", "mine.py", cwd=tmp_path)
    words = ["> return (scores.argmax", "AttributeError: 'Tensor' object has no attribute 'dubble'"]
    check_refused(ended, *at_lines(words, tmp_path / "mine.py"))


def test_a_run_that_says_nonsense_of_its_code_is_told(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS)
    assert quick("train", "mine.py", "--out", "run", "--json", cwd=tmp_path).code == 0
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    (tmp_path / "run" / "environment.json").write_text(json.dumps({**environment, "code": ["mine.py"]}))
    accept_changes(tmp_path / "run")
    check_refused(quick("evaluate", "run", "--code", "mine.py", cwd=tmp_path), "environment.json is damaged: code")


@pytest.mark.slow
def test_a_failing_worker_of_a_sweep_tells_the_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS.replace(LOSS, late(LOSS, 2)) + CALLS)
    ended = gradlab("sweep", "mine.py", "model.width=2:8", "--trials", "2", "--jobs", "2", cwd=tmp_path)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert at_lines(["> return CALLS[3][3]"], tmp_path / "mine.py")[0] in ended.err
    assert "workers ended early" in ended.err


def test_a_seed_that_fails_ends_the_study_and_keeps_what_is_done(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PAIRS.replace(LOSS, late(LOSS, 20)) + CALLS)
    ended = quick("train", "mine.py", "--seeds", "2", "--out", "study", cwd=tmp_path)
    check_refused(ended, *at_lines(["> return CALLS[3][3]"], tmp_path / "mine.py"), code=1)
    assert (tmp_path / "study" / "seed-0" / "result.json").exists()
