"""The doctor measured: how scripts are split and run, what is counted, and how it is told."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from gradlab.bench.doctor import overhead as doctor_overhead
from gradlab.bench.doctor.corpus import Script, read_corpus, split
from gradlab.bench.doctor.outcomes import Practice, bench_doctor, difference, outcome, score
from gradlab.bench.doctor.overhead import bench_doctor_overhead
from gradlab.bench.processes import WorkerFailed
from gradlab.cli.benchmarks.doctor import show_doctor, show_overhead
from gradlab.errors import GradlabError

PAIR = '''"""Fits a line."""
# fault: missing_zero_grad

import torch

torch.manual_seed(0)
x = torch.randn(64, 3)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(60):
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()  # REPAIRED
    loss.backward()
    optimizer.step()
    print(loss.item())
'''
HEALTHY = '"""Counts."""\n\nprint("one")\n'


@pytest.fixture
def corpus(tmp_path):
    for name, text in {"lines/line": PAIR, "counts/one": HEALTHY, "held_out/others/line": PAIR}.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


# Reading


def test_the_two_forms_differ_in_marked_lines_alone():
    text = 'a = 1\nif a:  # FAULT\n    b = "# FAULT" + "x"\n    b = 2  # REPAIRED\nc = 3  # FAULTY\n'
    assert split(text, "faulty") == 'a = 1\nif a:\n    b = "# FAULT" + "x"\nc = 3  # FAULTY\n'
    assert split(text, "repaired") == 'a = 1\n    b = "# FAULT" + "x"\n    b = 2\nc = 3  # FAULTY\n'


def test_a_corpus_is_read_with_families_and_what_is_held_out(corpus):
    scripts = read_corpus(corpus)
    assert [(s.name, s.family, s.held_out, s.fault, s.forms) for s in scripts] == [
        ("counts/one", "counts", False, None, ("healthy",)),
        ("held_out/others/line", "others", True, "missing_zero_grad", ("faulty", "repaired")),
        ("lines/line", "lines", False, "missing_zero_grad", ("faulty", "repaired")),
    ]
    assert scripts[0].text("healthy") == HEALTHY
    assert "zero_grad" not in scripts[2].text("faulty")
    assert scripts[2].text("repaired").count("zero_grad()\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# fault: lr_too_high\nx = 1\n", "has a fault, lr_too_high: some lines must end in"),
        ("x = 1  # FAULT\n", "lines that end in `# FAULT`, but no line `# fault: slug`"),
        ("# fault:\nx = 1  # FAULT\n", "one line `# fault: slug`"),
        ("# fault: a\n# fault: b\nx = 1  # FAULT\n", "one line `# fault: slug`"),
    ],
)
def test_a_file_out_of_form_is_named(tmp_path, text, says):
    (tmp_path / "wrong.py").write_text(text)
    with pytest.raises(GradlabError, match=f"wrong.py.*{says}"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"only": ["lins"]}, "no script, family or fault 'lins'. Did you mean 'line"),
        ({"only": ["zzz"]}, "fault 'zzz'. Valid: counts, lines, others."),
        ({"only": ["others"], "held_out": "no"}, "none is left with --held-out no"),
        ({"jobs": 0}, "--jobs must be at least 1"),
        ({"seconds": 0.0}, "--seconds must be positive"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_runs(corpus, options, says):
    with pytest.raises(GradlabError, match=says):
        bench_doctor(corpus, pytest.fail, **options)


def test_a_corpus_that_is_not_there_is_told(tmp_path):
    with pytest.raises(GradlabError, match=r"no folder .*clone"):
        bench_doctor(tmp_path / "nowhere", pytest.fail)
    with pytest.raises(GradlabError, match="no Python scripts"):
        bench_doctor(tmp_path, pytest.fail)


# Running


@pytest.mark.slow
def test_scripts_run_under_the_doctor_and_are_counted_apart(corpus):
    told = []
    used, aside = bench_doctor(corpus, told.append, jobs=2, identity=True)
    assert len(told) == 5
    assert (used.title, used.faulty, used.first, used.among_first, used.sound) == ("Families in use", 1, 1, 1, 2)
    assert (aside.title, aside.faulty, aside.among_first, aside.sound) == ("Families held out", 1, 1, 1)
    assert used.false_alarms == aside.false_alarms == 0
    (score,) = used.scores
    assert (score.slug, score.scripts, score.precision, score.recall) == ("missing_zero_grad", 1, 1.0, 1.0)
    one, faulty, repaired = used.outcomes
    assert (one.name, one.form, one.steps, one.difference) == ("counts/one", "healthy", 0, None)
    assert (faulty.form, faulty.steps, faulty.place, faulty.findings[0].severity) == ("faulty", 60, 0, "error")
    assert (repaired.form, repaired.alarms, repaired.difference, repaired.failures) == ("repaired", [], None, [])


@pytest.mark.slow
def test_only_some_scripts_run(corpus):
    (part,) = bench_doctor(corpus, lambda text: None, only=["missing_zero_grad"], held_out="no", jobs=1)
    assert {o.name for o in part.outcomes} == {"lines/line"}


@pytest.mark.slow
def test_no_script_sees_what_another_has_done(tmp_path):
    script = tmp_path / "state.py"
    script.write_text(
        "import sys, torch\n"
        "print(torch.rand(1).item(), torch.get_num_threads(), sys.argv[1:], hasattr(torch, 'mark'))\n"
        "torch.mark = 1\n"
    )
    with Practice(jobs=1, seconds=60) as practice:
        runs = [run for _ in range(2) for run in practice.run(script, ["a b"], identity=True)]
        printed = {Path(run["out"]).read_text() for run in runs}
    assert [run["code"] for run in runs] == [0] * 4
    (text,) = printed  # a process that begins without a seed draws one; here all draw the same
    assert text.endswith(" 1 ['a b'] False\n")


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_told(corpus, monkeypatch):
    def ask(self, question):
        raise WorkerFailed("ImportError: no torch")

    monkeypatch.setattr("gradlab.bench.processes.Worker.ask", ask)
    with pytest.raises(GradlabError, match="could not be started: ImportError: no torch"):
        bench_doctor(corpus, lambda text: None, jobs=1)


# Counting


def seen(fault, *findings, form="faulty", name="family/script", faults=(), **more):
    """What would come of a script on which the doctor says this, in `severity slug` or `severity slug<cause`."""
    told = []
    for one in findings:
        severity, _, slug = one.partition(" ")
        slug, _, cause = slug.partition("<")
        told.append({"slug": slug, "severity": severity, "confidence": 0.9, "where": "", "evidence": ""})
        told[-1]["follows_from"] = cause or None
    report = {"findings": told, "steps": 9, "faults_of_the_doctor": list(faults)}
    answer = {"code": 0, "seconds": 1.0, "report": report, "out": "", "said": [], **more}
    return outcome(Script(path=Path("x.py"), name=name, fault=fault), form, answer, None)


@pytest.mark.parametrize(
    ("findings", "place", "right"),
    [
        (["error a"], 0, True),
        (["warning b", "note a"], 1, True),
        (["error b", "error c", "error a"], 2, False),
        (["error b"], None, False),
        ([], None, False),
    ],
)
def test_a_fault_must_be_among_the_first_two(findings, place, right):
    one = seen("a", *findings)
    assert (one.place, one.right) == (place, right)


@pytest.mark.parametrize("form", ["repaired", "healthy"])
def test_a_script_without_a_fault_may_have_notes_and_nothing_else(form):
    assert seen("a", "note a", "note b", form=form).right
    assert not seen("a", "warning a", form=form).right
    assert not seen("a", "note b", "error c", form=form).right


def test_precision_and_recall_are_of_errors_and_warnings():
    part = score(
        "All",
        [
            seen("a", "error a", "note c<a"),
            seen("a", "error b", "warning a"),
            seen("a", "note a"),
            seen("b", "error a"),
            seen("a", "warning a", form="repaired"),
        ],
    )
    a, b = part.scores
    assert (a.slug, a.scripts, a.first, a.among_first, a.precision, a.recall) == ("a", 3, 2, 3, 2 / 4, 2 / 3)
    assert (b.slug, b.scripts, b.first, b.among_first, b.precision, b.recall) == ("b", 1, 0, 0, 0.0, 0.0)
    assert (part.faulty, part.first, part.among_first, part.sound, part.false_alarms) == (4, 2, 3, 1, 1)


def test_what_follows_from_another_finding_is_no_alarm_of_its_own():
    assert seen("a", "error a", "warning b<a").alarms == ["a"]


def test_a_script_without_a_report_is_a_failure_of_the_doctor():
    late = seen("a", report=None, code=None)
    assert late.failures == ["it did not end within 1 s"]
    assert not late.right
    crashed = seen("a", report=None, code=1, said=["KeyError: 3"])
    assert crashed.failures == ["there is no report; exit code 1: KeyError: 3"]


def test_differences_are_told_by_line(tmp_path):
    def ran(name, content, code=0):
        (tmp_path / name).write_bytes(content)
        return {"out": str(tmp_path / name), "code": code}

    plain = ran("plain", b"one\ntwo\n")
    assert difference(ran("same", b"one\ntwo\n"), plain) is None
    assert difference(ran("other", b"one\n2\n"), plain) == "line 2: '2' with the doctor, 'two' without"
    assert difference(ran("short", b"one\n"), plain) == "4 bytes printed with the doctor, 8 without"
    timed = ran("timed", b"loss 0.1 in 0.31 s, 2ms\n")
    assert difference(ran("slower", b"loss 0.1 in 12 s, 4.5ms\n"), timed) is None
    assert difference(ran("worse", b"loss 0.2 in 0.31 s, 2ms\n"), timed) is not None
    assert difference(ran("ended", b"one\ntwo\n", 3), plain) == "exit code 3 with the doctor, 0 without"


# Telling


def printed(show, found):
    screen = Console(file=io.StringIO(), width=110)
    show(screen, found)
    return screen.file.getvalue()


def test_the_table_names_what_was_missed_and_what_was_wrong():
    outcomes = [
        seen("a", "error b", "note c", name="family/missed"),
        seen("b", "error b", name="family/found"),
        seen(None, "warning b", form="healthy", name="family/alarmed"),
        seen(None, form="healthy", name="family/failed", faults=["rule b: KeyError: 1"]),
    ]
    text = printed(show_doctor, [score("Families in use", outcomes)])
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert rows["a"] == ["1", "0", "0", "–", "0%"]
    assert rows["b"] == ["1", "1", "1", "33%", "100%"]
    assert rows["family/missed"] == ["a", "error", "b", "0.90,", "note", "c", "0.90"]
    assert rows["family/alarmed"] == ["healthy", "warning", "b", "0.90"]
    assert rows["family/failed"] == ["healthy", "rule", "b:", "KeyError:", "1"]
    assert "family/found" not in rows
    assert "1 of 2 faulty scripts (50%), and the first of 1; 1 false alarm on 2 without a fault" in text
    assert "the doctor itself failed on 1." in text


# What it costs


def test_the_cost_is_the_median_of_ratios_within_a_round(monkeypatch):
    runs = []

    def call(arguments):
        under = "doctor" in arguments
        runs.append("doctor" if under else "plain")
        wall = len(runs) * (1.5 if under else 1.0)
        return "something the script says\n" + json.dumps({"wall": wall, "cpu": 1.2 if under else 1.0, "loss": 0.25})

    monkeypatch.setattr(doctor_overhead, "call", call)
    mlp, cnn = bench_doctor_overhead(3, lambda text: None)
    assert runs[:6] == ["plain", "doctor", "doctor", "plain", "plain", "doctor"]
    assert mlp.wall == sorted([1.5 * 2 / 1, 1.5 * 3 / 4, 1.5 * 6 / 5])[1]
    assert (mlp.cpu, mlp.bar, cnn.bar, mlp.plain, mlp.same) == (1.2, 1.3, 1.1, 1.0, True)
    text = printed(show_overhead, [mlp, cnn])
    assert "MLP 784-512-512-10" in text
    assert "1.80" in text


def test_rounds_must_be_positive():
    with pytest.raises(GradlabError, match="at least one round"):
        bench_doctor_overhead(0, pytest.fail)


@pytest.mark.slow
def test_the_timed_scripts_train(tmp_path):
    for name in ("mlp", "cnn"):
        told = doctor_overhead._run([str(Path(doctor_overhead.__file__).with_name("loops.py")), name, "6"])
        assert 0 < told["wall"] < told["process"]
        assert 0 < told["loss"] < 10


@pytest.mark.slow
def test_the_doctor_costs_no_more_than_it_may():
    for one in bench_doctor_overhead(3, print):
        assert one.same
        assert min(one.wall, one.cpu) <= one.bar
