"""Several processes, one verdict: what is told once, by whom, and what happens when one of them is missing."""

import json
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore

from gradlab.diagnosis import ranks
from gradlab.diagnosis.finding import Finding, Spot, Verdict
from gradlab.diagnosis.ranks import Ranks, merged
from gradlab.diagnosis.series import Series

TORCHRUN = Path(sys.executable).with_name("torchrun")


def finding(slug: str, confidence: float = 0.9, where: str = "net", **more: Any) -> Finding:
    usual: dict[str, Any] = {"severity": "error", "since_step": 0, "evidence": "", "fix": ""}
    return Finding(slug=slug, confidence=confidence, place=(Spot(where),), **(usual | more))


def verdict(*findings: Finding, **more: Any) -> Verdict:
    return Verdict(findings=list(findings), **({"steps": 10, "seconds": 1.0} | more))


def test_what_all_have_is_told_once_and_what_one_has_names_it():
    both = {
        0: verdict(finding("a"), finding("b", severity="warning")),
        1: verdict(finding("a"), finding("c", severity="note"), steps=12),
    }
    one = merged(both)
    assert [(f.slug, f.ranks) for f in one.findings] == [("a", (0, 1)), ("b", (0,)), ("c", (1,))]
    assert (one.steps, one.ranks) == (12, (0, 1))
    assert one.sentence.endswith("(12 steps watched on ranks 0 and 1).")


def test_the_gravest_of_the_same_is_told():
    one = merged({0: verdict(finding("a", severity="note")), 1: verdict(finding("a", evidence="worse"))})
    assert [(f.severity, f.evidence, f.ranks) for f in one.findings] == [("error", "worse", (0, 1))]


def test_other_places_are_other_findings_and_so_are_two_cases_of_one_rank():
    one = merged({0: verdict(finding("a"), finding("a")), 1: verdict(finding("a"), finding("a", where="head"))})
    assert [(f.where, f.ranks) for f in one.findings] == [("net", (0, 1)), ("net", (0,)), ("head", (1,))]


def test_a_rank_that_trained_nothing_does_not_hide_the_others():
    idle = verdict(refusal="No training was seen.", steps=0, faults=["its fault"])
    one = merged({0: idle, 1: verdict(finding("a"), faults=["its fault", "another"])})
    assert one.refusal is None
    assert (one.ranks, one.faults) == ((1,), ["its fault", "another"])
    assert merged({0: idle, 1: idle}).refusal == "No training was seen."


def test_a_verdict_comes_through_json_as_it_was():
    course = Series()
    course.add(0, 1.5)
    course.add(3, float("nan"))
    before = verdict(finding("a", series=course, measured={"rate": 0.1}, ranks=(2,)), faults=["f"], ranks=(2,))
    after = Verdict.from_json(json.loads(json.dumps(before.as_json())))
    assert json.dumps(after.as_json()) == json.dumps(before.as_json())
    assert after.findings[0].place == before.findings[0].place


@pytest.fixture
def meet(monkeypatch):
    """`meet(rank)`: that rank of two, at a store that both know."""
    store = HashStore()
    monkeypatch.setattr(ranks, "_store", lambda: store)
    for name in ("_OTHERS", "_FIRST", "_REPORT"):
        monkeypatch.setattr(ranks, name, timedelta(milliseconds=50))
    monkeypatch.setenv("WORLD_SIZE", "2")

    def be(rank: int) -> Ranks:
        monkeypatch.setenv("RANK", str(rank))
        return Ranks()

    return be


def test_the_first_tells_for_all(meet):
    assert meet(1).verdict(verdict(finding("b")), failed=False) is None
    whole = meet(0).verdict(verdict(finding("a")), failed=False)
    assert [(f.slug, f.ranks) for f in whole.findings] == [("a", (0,)), ("b", (1,))]


def test_of_one_that_does_not_come_the_report_says_so(meet):
    whole = meet(0).verdict(verdict(finding("a")), failed=False)
    assert whole.ranks == (0,)
    assert whole.faults == ["Rank 1 was not heard: it had not ended minutes after the first."]


def test_one_that_has_failed_tells_for_itself_where_the_first_does_not_come(meet):
    own = meet(1).verdict(verdict(finding("a")), failed=True)
    assert [(f.slug, f.ranks) for f in own.findings] == [("a", (1,))]


def test_one_that_has_failed_is_silent_once_the_first_has_told(meet):
    meet(1).verdict(verdict(), failed=True)
    first = meet(0)
    assert first.verdict(verdict(finding("a")), failed=False) is not None
    assert meet(1).verdict(verdict(finding("a")), failed=True) is not None  # heard, but not told yet
    meet(0)
    first.reported()
    assert meet(1).verdict(verdict(finding("a")), failed=True) is None


def test_without_a_store_each_tells_for_itself(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    own = Ranks().verdict(verdict(finding("a")), failed=False)
    assert own.findings[0].ranks == (1,)
    assert "could not be heard" in own.faults[0]


SCRIPT = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
x = torch.randn(64, 10)
y = (x[:, 0] > 0).long()
net = DDP(nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2)))
head = nn.Linear(10, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
of_head = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(30):
    if rank == 0:
        of_head.zero_grad()
    for model, one in ((net, optimizer), (head, of_head)):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        one.step()
dist.barrier()
if rank == 1:
    print("the end", loss.item())
dist.destroy_process_group()
END
"""


def torchrun(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    return subprocess.run(
        [str(TORCHRUN), *options, *arguments], cwd=folder, capture_output=True, text=True, timeout=180
    )


@pytest.mark.skipif(not TORCHRUN.exists(), reason="needs torchrun beside the interpreter")
def test_torchrun_has_one_report(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    (tmp_path / "train.py").write_text(SCRIPT.replace("END", ""))
    ended = torchrun(tmp_path, "-m", "gradlab", "doctor", "--exit-code", "script", "--json", "out.json", "train.py")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("the end") == 1
    assert ended.stderr.count("gradlab doctor ──") == 1
    assert "on        ranks 0 and 1" in ended.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    found = {f["where"]: f["ranks"] for f in written["findings"] if f["slug"] == "missing_zero_grad"}
    assert sorted(found.values()) == [[0, 1], [1]]  # that of the head, which the first alone clears, is the other's
    assert (written["ranks"], written["faults_of_the_doctor"]) == ([0, 1], [])


@pytest.mark.slow
@pytest.mark.skipif(not TORCHRUN.exists(), reason="needs torchrun beside the interpreter")
def test_a_rank_that_fails_after_the_training_does_not_take_the_report_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    (tmp_path / "train.py").write_text(SCRIPT.replace("END", "if rank == 1: raise ValueError('mine')"))
    ended = torchrun(tmp_path, "-m", "gradlab", "doctor", "train.py")
    assert ended.returncode == 1
    assert "ValueError: mine" in ended.stderr
    assert ended.stderr.count("gradlab doctor ──") == 1
    assert "on        ranks 0 and 1" in ended.stderr
