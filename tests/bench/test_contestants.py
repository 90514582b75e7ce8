"""Every contestant that is installed trains the case it enters, and reaches what the others reach."""

import pkgutil
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gradlab.bench.cases import CASES
from gradlab.bench.contestants import ENTRIES
from gradlab.bench.contestants.floor import Floor
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.bench.work import Work
from gradlab.bench.worker import measure

SMALL = {
    "digits": replace(CASES["digits"], rows=200, epochs=3),
    "mlp": replace(CASES["mlp"], rows=200, epochs=2, hidden=(16,)),
    "lenet": replace(CASES["lenet"], rows=130, epochs=2),
}


@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_the_work_is_the_same_whenever_it_is_made(case):
    first, again = Work.of(case), Work.of(case)
    assert np.array_equal(first.inputs, again.inputs)
    assert np.array_equal(first.targets, again.targets)
    assert len(first.inputs) == len(first.targets) == case.rows
    assert first.inputs.dtype == np.float32
    assert set(first.targets) == set(range(10))
    weights, once_more = first.model().state_dict(), again.model().state_dict()
    assert all(torch.equal(weights[k], once_more[k]) for k in weights)


def test_the_loss_is_the_cross_entropy():
    work = Work.of(SMALL["digits"])
    logits = torch.randn(200, 10, generator=torch.Generator().manual_seed(0)) * 30
    expected = F.cross_entropy(logits.double(), torch.from_numpy(work.targets)).item()
    assert work.loss(logits.numpy()) == pytest.approx(expected, rel=1e-9)


def test_steps_count_the_ragged_batch():
    assert replace(CASES["digits"], rows=65, batch_size=32, epochs=2).steps == 6
    assert CASES["digits"].steps == 900


def test_a_worker_that_breaks_leaves_its_last_words():
    with Worker("gradlab.bench.worker") as worker, pytest.raises(WorkerFailed, match="KeyError: 'nobody'"):
        worker.ask({"contestant": "nobody", "case": asdict(SMALL["digits"])})
    assert worker.process.returncode is not None


BASE = ["gradlab", "gradlab-bare", "tutorial", "by-hand", "scikit-learn"]
ENTERED = [(n, case) for n in BASE for case in SMALL.values() if case.name in (ENTRIES[n].cases or SMALL)]


@pytest.mark.parametrize(("name", "case"), ENTERED, ids=lambda value: getattr(value, "name", value))
def test_each_contestant_of_the_base_install_learns(name, case):
    entry = ENTRIES[name]
    contestant = pkgutil.resolve_name(entry.path)(**entry.options)
    learned(measure(contestant, Work.of(case)), case)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lightning", "keras", "skorch"])
@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_each_peer_that_is_installed_learns(name, case):
    if not ENTRIES[name].installed:
        pytest.skip(f"{name} is not installed")
    with Worker("gradlab.bench.worker") as worker:  # a process of its own: its warnings are not ours
        worker.ask({"contestant": name, "case": asdict(case)})
        learned(worker.ask({}), case)


def learned(figures, case):
    work = Work.of(case)
    untrained = work.loss(work.model()(torch.from_numpy(work.inputs)).detach().numpy())
    assert figures["steps"] == case.steps
    assert figures["loss"] < untrained - 0.05


def test_the_floor_takes_every_gradient_and_learns_nothing():
    work = Work.of(CASES["digits"]).warm_up
    model = work.model()
    before = [p.clone() for p in model.parameters()]
    assert Floor().train(model, work) == work.case.steps
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))
