"""Language models: every contestant has the same model, the same text and as many steps, and learns."""

import pkgutil
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gradlab.bench.arena import compete
from gradlab.bench.cases import CASES, TEXT_CASES
from gradlab.bench.contestants import TEXT_ENTRIES, entries
from gradlab.bench.contestants.text.floor import Floor
from gradlab.bench.contestants.text.nanogpt import NanoGPT, _batch, _optimizer
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.processes import Worker
from gradlab.bench.work import Work
from gradlab.bench.worker import measure
from gradlab.models.cost import parameter_count

SMALL = {
    "lstm": replace(TEXT_CASES["lstm"], rows=60, length=16, batch_size=4, hidden=(24, 24), lr=1e-2),
    "gpt": replace(TEXT_CASES["gpt"], rows=60, length=16, batch_size=4, hidden=(24, 24), lr=1e-2),
}
every_case = pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)


@every_case
def test_the_windows_are_one_text_and_their_targets_are_one_place_on(case):
    work = Work.of(case)
    assert work.inputs.shape == work.targets.shape == (60, 16)
    assert np.array_equal(work.tokens[:-1], work.inputs.ravel())
    assert np.array_equal(work.tokens[1:], work.targets.ravel())
    assert np.array_equal(work.tokens, Work.of(case).tokens)
    assert 20 < len(set(work.tokens)) <= work.vocabulary == 65
    assert work.warm_up.case.steps == 4


@pytest.mark.parametrize("case", [*SMALL.values(), *TEXT_CASES.values()], ids=["small", "small", "lstm", "gpt"])
def test_the_plain_model_is_gradlabs_to_the_gradient(case):
    work = Work.of(case)
    ours, theirs = work.model(), plain(work)
    assert parameter_count(ours) == parameter_count(theirs)
    x, y = (torch.from_numpy(part[:3]) for part in (work.inputs, work.targets))
    losses = [F.cross_entropy(model(x).flatten(0, 1), y.flatten()) for model in (ours, theirs)]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-6)
    assert losses[0].item() == pytest.approx(np.log(65), abs=0.2)
    pairs = zip(
        *(torch.autograd.grad(loss, list(m.parameters())) for loss, m in zip(losses, (ours, theirs), strict=True)),
        strict=True,
    )
    for mine, other in pairs:
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


def test_the_gpt_has_nanogpts_number_of_weights():
    # Its setting for a CPU, with biases: 12 d² + 13 d for a layer, tables of 65 tokens and 64 places, a last norm.
    dim = 128
    expected = 4 * (12 * dim**2 + 13 * dim) + (65 + 64) * dim + 2 * dim
    assert parameter_count(Work.of(TEXT_CASES["gpt"]).model()) == expected


BASE = [(name, case) for case in SMALL.values() for name, e in entries(case).items() if e.requires == "torch"]


@pytest.mark.parametrize(("name", "case"), BASE, ids=lambda value: getattr(value, "name", value))
def test_each_contestant_of_the_base_install_learns_but_the_floor(name, case):
    entry = TEXT_ENTRIES[name]
    work = Work.of(case)
    untrained = work.loss(plain(work)(torch.from_numpy(work.inputs)).detach().numpy())
    figures = measure(pkgutil.resolve_name(entry.path)(**entry.options), work)
    assert figures["steps"] == case.steps == 15
    if name == "floor":
        assert figures["loss"] == pytest.approx(untrained)
    else:
        assert figures["loss"] < untrained - 0.3


@pytest.mark.slow
@every_case
def test_lightning_learns_where_it_is_installed(case):
    if not TEXT_ENTRIES["lightning"].installed:
        pytest.skip("lightning is not installed")
    with Worker("gradlab.bench.worker") as worker:
        worker.ask({"contestant": "lightning", "case": asdict(case)})
        assert worker.ask({})["steps"] == case.steps


def test_each_case_has_its_own_reference():
    references = {
        case.name: [name for name, entry in entries(case).items() if entry.reference]
        for case in (*CASES.values(), *TEXT_CASES.values())
    }
    pictures = {name: ["tutorial", "tutorial-1"] for name in CASES}
    assert references == pictures | {"lstm": ["tutorial", "tutorial-1"], "gpt": ["nanogpt", "nanogpt-1"]}


@pytest.mark.slow
def test_a_text_case_is_compared_with_its_reference_in_processes():
    table = compete(SMALL["gpt"], 1, lambda text: None, ["gradlab"])
    assert {row.contestant for row in table.rows} == {"gradlab", "nanogpt", "nanogpt-1"}
    assert {row.steps for row in table.rows} == {15}
    assert table.reference.startswith("nanogpt")
    assert table.optimizer == "AdamW"


def test_nanogpt_reads_windows_of_the_text_and_what_follows_them(tmp_path):
    work = Work.of(SMALL["gpt"])
    work.tokens.astype(np.uint16).tofile(tmp_path / "tokens")
    x, y = _batch(tmp_path / "tokens", work)
    assert x.shape == y.shape == (4, 16)
    assert torch.equal(x[:, 1:], y[:, :-1])
    text = work.tokens.tobytes()
    assert all(row.numpy().tobytes() in text for row in (*x, *y))


def test_nanogpt_decays_matrices_alone():
    work = Work.of(SMALL["gpt"])
    decayed, spared = _optimizer(plain(work), work).param_groups
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)
    assert {p.ndim for p in decayed["params"]} == {2}
    assert {p.ndim for p in spared["params"]} == {1}


def test_nanogpt_leaves_nothing_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    work, contestant = Work.of(SMALL["gpt"]).warm_up, NanoGPT()
    contestant.train(plain(work), work)
    assert len(list(tmp_path.iterdir())) == 1
    contestant.tidy()
    assert list(tmp_path.iterdir()) == []


def test_the_floor_reads_every_batch():
    seen = []
    work = Work.of(SMALL["lstm"])
    model = plain(work)
    model.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    Floor().train(model, work)
    assert seen == [4] * 15


@pytest.mark.parametrize("name", ["tutorial", "nanogpt", "by-hand"])
def test_every_gradient_is_clipped_as_gradlab_clips_it(name, monkeypatch):
    limits = []
    clip = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda p, limit: limits.append(limit) or clip(p, limit))
    case = SMALL["gpt" if name == "nanogpt" else "lstm"]
    measure(pkgutil.resolve_name(TEXT_ENTRIES[name].path)(), Work.of(case))
    assert limits == [case.clip] * case.steps == [1.0] * 15
