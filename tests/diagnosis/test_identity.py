"""A script prints and computes the same, bit for bit, with the doctor and without; its failures stay its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from gradlab.bench.doctor.outcomes import Practice, difference
from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.rules import base

STYLES = Path(__file__).parent / "styles"
CASES = [(path.stem,) for path in sorted(STYLES.glob("*.py")) if path.stem not in ("compiled", "workers")]
CASES += [("compiled", "eager"), ("compiled", "aot_eager"), ("compiled", "inductor")]
CASES += [("workers", "fork"), ("workers", "spawn")]
SLOW = [("compiled", "aot_eager"), ("compiled", "inductor"), ("workers", "spawn"), ("processes",), ("traced",)]


def marked(case):
    return pytest.param(case, id=" ".join(case), marks=[pytest.mark.slow] if case in SLOW else [])


@pytest.fixture(scope="module")
def practice():
    with Practice(jobs=1, seconds=300) as made:
        yield made


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_what_a_script_prints_does_not_depend_on_the_doctor(practice, case, tmp_path):
    name, *options = case
    script = shutil.copy(STYLES / f"{name}.py", tmp_path)
    under, without = practice.run(Path(script), options, identity=True)
    assert difference(under, without) is None
    assert Path(without["out"]).stat().st_size > 100
    assert under["report"]["faults_of_the_doctor"] == []
    assert under["report"]["steps"] > 0


# Python itself, and the command in a fresh process: what a script can know of how it was started.


def called(arguments, cwd):
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, timeout=300)


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("own_names", ["--json", "-x", "--", "two words"], 0),
        pytest.param("leaves", [], 3, marks=pytest.mark.slow),
        pytest.param("raises", [], 1, marks=pytest.mark.slow),
        pytest.param("processes", [], 0, marks=pytest.mark.slow),
        pytest.param("workers", ["spawn"], 0, marks=pytest.mark.slow),
    ],
)
def test_a_fresh_process_ends_as_python_would_end_it(name, options, code, tmp_path):
    shutil.copy(STYLES / f"{name}.py", tmp_path)
    without = called([f"{name}.py", *options], tmp_path)
    under = called(["-m", "gradlab", "doctor", "--exit-code", "script", f"{name}.py", *options], tmp_path)
    assert (under.returncode, without.returncode) == (code, code), under.stderr.decode()
    assert under.stdout == without.stdout
    check_last_words(under.stderr.decode(), without.stderr.decode(), name)


def check_last_words(under, without, name):
    """What the script says of its end comes first, and the verdict after it.

    Between two of its lines torch may have others: it calls modules that are watched in another way.
    """
    own = [[line for line in text.splitlines() if line[:1].strip() or name in line] for text in (under, without)]
    assert own[0][: len(own[1])] == own[1]
    assert len(own[0]) > len(own[1])
    if own[1]:
        assert "gradlab" not in under.partition(own[1][-1])[0]


def test_a_script_that_moves_elsewhere_still_leaves_its_report_where_it_was_asked_for(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "train.py").write_text(f"import os\nos.chdir('below')\n{(STYLES / 'leaves.py').read_text()}")
    under = called(["-m", "gradlab", "doctor", "--exit-code", "script", "--json", "told.json", "train.py"], tmp_path)
    assert under.returncode == 3
    assert json.loads((tmp_path / "told.json").read_text())["steps"] == 12


GROWING = """
import re, torch
from pathlib import Path
from torch import nn

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range({steps}):
    x = torch.randn(64, 20)
    loss = nn.functional.cross_entropy(net(x), x[:, :5].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        net.eval()
        with torch.no_grad():
            nn.functional.cross_entropy(net(x), x[:, :5].argmax(1))
        net.train()
    if step in (500, {steps} - 1):
        print(resident())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("steps", [3000, pytest.param(30000, marks=pytest.mark.slow)])
def test_a_long_training_takes_no_more_memory_than_a_short_one(practice, tmp_path, steps):
    script = tmp_path / "long.py"
    script.write_text(GROWING.replace("{steps}", str(steps)))
    under, _ = practice.run(script)
    early, late = map(float, Path(under["out"]).read_text().split())
    assert under["report"]["steps"] == steps
    assert late - early < 25  # MiB; every batch kept would be 5 KiB a step, every graph more


def train(steps=30):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_rule_that_fails_is_told_as_the_doctors_own_fault(monkeypatch):
    def broken(record):
        raise KeyError("of the rule's own")

    rule = base.Rule(slug="broken", title="", meaning="", topic=None, follows=(), judge=broken)
    monkeypatch.setitem(base.rules, "broken", rule)
    with Doctor(tell=False) as doctor:
        train()
    (fault,) = doctor.verdict.faults
    assert "broken" in fault
    assert "of the rule's own" in fault
    assert doctor.verdict.steps == 30


def test_a_watch_that_fails_changes_nothing_for_the_script(monkeypatch):
    from gradlab.diagnosis.watching.backwards import Backwards

    expected = train()

    def broken(self, *arguments):
        raise RuntimeError("in the middle of a look")

    monkeypatch.setattr(Backwards, "before", broken)
    torch.manual_seed(0)
    with Doctor(tell=False) as doctor:
        assert train() == expected
    assert any("in the middle of a look" in fault for fault in doctor.verdict.faults)


SABOTAGE = """
from gradlab.diagnosis.rules.base import Rule

@Rule(slug="broken", title="", meaning="")
def broken(record):
    raise KeyError

"""


def test_a_rule_that_fails_under_the_command_leaves_the_scripts_end_alone(practice, tmp_path):
    script = tmp_path / "sabotage.py"
    script.write_text(SABOTAGE + (STYLES / "leaves.py").read_text())
    under, without = practice.run(script, identity=True)
    assert difference(under, without) is None
    assert under["code"] == 3
    (fault,) = under["report"]["faults_of_the_doctor"]
    assert "broken" in fault


def test_after_the_doctor_nothing_of_it_is_left():
    from torch.nn.modules import module

    def places():
        functions = (
            torch.Tensor.backward,
            torch.autograd.backward,
            nn.functional.cross_entropy,
            nn.functional.mse_loss,
        )
        hooks = (
            module._global_forward_hooks,
            module._global_forward_pre_hooks,
            module._global_module_registration_hooks,
        )
        methods = (nn.Module.train, nn.Module.eval, nn.Module.load_state_dict, nn.utils.clip_grad_norm_)
        return [*functions, *methods, *(len(hook) for hook in hooks)]

    before = places()
    with Doctor(tell=False):
        train(5)
        during = places()
    assert during != before
    assert places() == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_script_without_end_is_ended(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text("import time\nwhile True:\n    time.sleep(1)\n")
    with Practice(jobs=1, seconds=1.5) as impatient:
        under, _ = impatient.run(script)
    assert under["code"] is None
    assert under["report"] is None
