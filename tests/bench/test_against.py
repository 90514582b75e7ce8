"""gradlab beside another checkout of itself: both do the same work, and nothing else is measured by mistake."""

import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from gradlab.bench.against import bench_against, compare, participants
from gradlab.bench.arena import Participant, Table, tabulate, take_turns
from gradlab.bench.cases import CASES, TEXT_CASES
from gradlab.cli.benchmarks import train as benchmark
from gradlab.cli.benchmarks.train import show_against
from gradlab.errors import GradlabError

REPOSITORY = Path(__file__).parents[2]

SMALL = {
    "digits": replace(CASES["digits"], rows=64, epochs=2),
    "lstm": replace(TEXT_CASES["lstm"], rows=12, length=16, batch_size=4, hidden=(8, 8)),
}

# The fields that a case had in the first version, and a worker that needs no torch. Its figures are nobody else's.
OLD_WORKER = """
import json, os, sys
from dataclasses import dataclass

@dataclass(kw_only=True)
class Case:
    name: str
    title: str
    data: str
    model: str
    hidden: tuple = ()
    rows: int
    batch_size: int
    epochs: int = 1
    lr: float = 1e-3

asked = json.loads(sys.stdin.readline())
assert asked["contestant"] == "gradlab"
case = Case(**asked["case"])
print("{}", flush=True)
for line in sys.stdin:
    with open(os.environ.get("LOG", os.devnull), "a") as log:
        log.write(os.environ.get("WHO", ""))
    print(json.dumps({"seconds": 1e6, "cpu": 1e6, "steps": 7, "loss": 0.25}), flush=True)
"""


def quiet(text: str) -> None:
    pass


def make_package(folder: Path, worker: str) -> None:
    (folder / "gradlab" / "bench").mkdir(parents=True)
    (folder / "gradlab" / "__init__.py").touch()
    (folder / "gradlab" / "bench" / "worker.py").write_text(worker)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    make_package(tmp_path / "old" / "src", OLD_WORKER)
    return tmp_path / "old"


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_gradlab_does_the_same_as_itself(case):
    table = compare(case, participants(REPOSITORY), 3, quiet)
    here, there = (next(r for r in table.rows if r.contestant == name) for name in ("gradlab", "checkout"))
    assert (table.reference, table.rounds, table.absent) == ("checkout", 3, {})
    assert here.steps == there.steps == case.steps
    assert here.loss == there.loss
    assert there.cpu == there.wall == 1.0
    assert len(here.cpu_rounds) == len(there.cpu_rounds) == 3
    lower, upper = here.cpu_quartiles
    assert lower <= here.cpu <= upper


@pytest.mark.slow
def test_an_old_worker_understands_the_question_and_its_own_figures_are_told(old):
    table = compare(SMALL["digits"], participants(old), 1, quiet)
    here, there = (next(r for r in table.rows if r.contestant == name) for name in ("gradlab", "checkout"))
    assert (there.title, there.steps, there.loss, there.cpu_rounds) == (f"gradlab in {old}", 7, 0.25, [1e6])
    assert here.steps == SMALL["digits"].steps
    assert here.cpu == pytest.approx(here.cpu_rounds[0] / 1e6)
    assert here.wall == pytest.approx(here.wall_rounds[0] / 1e6)
    assert here.cpu_quartiles == (here.cpu, here.cpu)
    assert json.loads(json.dumps(asdict(table)))["rows"][0]["contestant"] == "gradlab"


def test_a_relative_path_means_the_same_checkout(old, monkeypatch):
    monkeypatch.chdir(old.parent)
    absolute, relative = participants(old), participants(Path("old"))
    assert absolute["checkout"].variables == relative["checkout"].variables
    assert relative["checkout"].title == "gradlab in old"


def test_the_order_is_drawn_anew_in_each_round(old, tmp_path):
    variables = {"PYTHONPATH": str(old / "src"), "LOG": str(tmp_path / "log")}
    both = {n: Participant(title=n, contestant="gradlab", variables={**variables, "WHO": n}) for n in "ab"}
    take_turns(CASES["digits"], both, 15, quiet, pytest.fail)
    log = (tmp_path / "log").read_text()
    assert {log[i : i + 2] for i in range(0, 30, 2)} == {"ab", "ba"}


@pytest.mark.parametrize(
    ("worker", "case", "words"),
    [
        (OLD_WORKER, "lstm", "TypeError: .*unexpected keyword argument 'length'"),
        ("raise SystemExit('out of order')", "digits", "out of order"),
        (OLD_WORKER.replace("1e6,", "1 / 0,"), "digits", "ZeroDivisionError"),
        ("import nothing_of_this_name", "digits", "No module named 'nothing_of_this_name'"),
    ],
    ids=["the case is unknown", "ends at once", "fails in a round", "cannot be imported"],
)
def test_a_checkout_that_fails_is_named_with_its_case(tmp_path, worker, case, words):
    make_package(tmp_path / "src", worker)
    both = dict.fromkeys(("gradlab", "checkout"), participants(tmp_path)["checkout"])  # ours would take its time
    with pytest.raises(GradlabError, match=f"The case '{case}' failed with gradlab in {tmp_path}: .*{words}"):
        compare(SMALL[case], both, 1, quiet)


@pytest.mark.slow
def test_a_checkout_without_benchmarks_is_refused(tmp_path):
    (tmp_path / "src" / "gradlab").mkdir(parents=True)
    (tmp_path / "src" / "gradlab" / "__init__.py").touch()
    with pytest.raises(GradlabError, match=r"No module named .*gradlab\.bench"):
        compare(SMALL["digits"], participants(tmp_path), 1, quiet)


@pytest.mark.parametrize("folder", ["elsewhere", "old/src"])
def test_a_gradlab_in_the_current_folder_is_not_taken_for_another(old, monkeypatch, folder):
    if folder == "elsewhere":
        make_package(old.parent / folder, OLD_WORKER)
    monkeypatch.chdir(old.parent / folder)
    with pytest.raises(GradlabError, match=f"cannot be measured: .*{folder}/gradlab.*another folder"):
        participants(old)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cases": ["digit"], "rounds": 1}, "There is no case 'digit'. Did you mean 'digits'"),
        ({"cases": ["digits"], "rounds": 0}, "at least one round, got 0"),
        ({"cases": ["digits"], "rounds": 1, "checkout": Path(__file__)}, "test_against.py is not a folder"),
        ({"cases": ["digits"], "rounds": 1, "checkout": Path(__file__).parent}, "it has no src/gradlab"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(arguments, message):
    started = []
    with pytest.raises(GradlabError, match=message):
        bench_against(**{"checkout": REPOSITORY, **arguments}, progress=started.append)
    assert started == []


@pytest.mark.parametrize(
    ("options", "called", "rounds"),
    [
        ({}, "bench_train", 7),
        ({"against": REPOSITORY}, "bench_against", 15),
        ({"against": REPOSITORY, "rounds": 3}, "bench_against", 3),
    ],
)
def test_ratios_close_to_one_have_more_rounds(monkeypatch, options, called, rounds):
    asked = []
    monkeypatch.setattr(benchmark, called, lambda *arguments: asked.append(arguments) or [])
    benchmark.train("digits", **options)
    assert asked[0][-2] == rounds


def made_up(loss: float) -> Table:
    both = {name: Participant(title=name, contestant="gradlab") for name in ("gradlab", "checkout")}
    cpu = {"gradlab": [1.0, 2.2, 1.5, 2.0, 0.9], "checkout": [1.0, 2.0, 1.0, 2.0, 1.0]}
    answers = {
        name: [{"seconds": 2 * c, "cpu": c, "steps": 900, "loss": loss if name == "gradlab" else 0.5} for c in cpus]
        for name, cpus in cpu.items()
    }
    return tabulate(CASES["digits"], both, answers, "checkout", absent={})


def printed(table: Table) -> str:
    screen = Console(file=io.StringIO(), width=120)
    show_against(screen, [table])
    return screen.file.getvalue()


def test_the_table_tells_the_median_the_quartiles_and_that_the_work_was_equal():
    text = printed(made_up(loss=0.5))
    here = next(line.split() for line in text.splitlines() if line.strip().startswith("gradlab"))
    assert here == ["gradlab", "1.000", "1.000–1.100", "1.000", "2,000", "900", "0.5000"]
    assert "Medians over 5 rounds; both reached the same loss, to the bit." in text


def test_losses_that_only_look_equal_are_told_apart():
    text = printed(made_up(loss=0.5 + 3e-9))
    assert text.count("0.5000") == 2
    assert "the losses differ by 3e-09: the two did not compute the same." in text
