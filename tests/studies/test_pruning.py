"""Pruning in one round is a run, and in several a study whose masks are nested and whose shares are equal."""

import itertools
import json

import pytest
import torch
from safetensors.torch import load_file

from gradlab.errors import GradlabError
from gradlab.run import open_run
from gradlab.studies import members, pruning
from gradlab.studies.pruning import prune, shares_of
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer


class Never(Observer):
    def start(self, training):
        raise AssertionError("trained again")


class Stop(Observer):
    """Asks for a stop after a step."""

    every = 1

    def __init__(self, step):
        self.at = step

    def step(self, training):
        if training.progress.step == self.at:
            training.request("stop")


@pytest.fixture(autouse=True)
def quick_reports(monkeypatch):
    """The report of each round, which takes longer than its training, is a matter of other tests."""
    for module in (members, pruning):
        monkeypatch.setattr(module, "write_report", lambda run: (run.path / "report.html").write_text("report"))


@pytest.fixture
def run(small, cpu, tmp_path):
    wider = small.override({"model.hidden": [16, 16]})
    return experiment.start(Experiment.of(wider, cpu), tmp_path / "dense")


def same_bytes(one, other):
    parts = [
        {f.name: f.read_bytes() for f in (run.checkpoints / "step-00000012").glob("*.safetensors")}
        for run in (one, other)
    ]
    return parts[0] == parts[1]


def test_one_round_is_a_run_with_the_share_that_was_asked_for(run, out, cpu):
    pruned = prune(run, 0.25, out, cpu)
    assert pruned.run.path == pruned.path == out
    assert (out / "report.html").exists()
    weights, masks = open_run(out).chosen_weights(), open_run(out).start.masks
    assert sum(int(weights[name].count_nonzero()) for name in masks) == round(0.25 * (32 + 256 + 32))
    assert pruned.run.finished["pruning"]["layers"]["2.weight"][1] == 256
    assert open_run(out).evaluate()["loss"] == pytest.approx(pruned.run.test["loss"])
    assert pruned.bytes["pruned"] == open_run(out).weights_file.stat().st_size < pruned.bytes["dense"]


def test_with_all_weights_kept_a_rewound_run_is_the_run_again_to_the_bit(run, out, cpu):
    again = prune(run, 1.0, out, cpu, beginning="rewind").run
    assert again.test == run.test
    weights, before = again.chosen_weights(), run.chosen_weights()
    assert all(torch.equal(weights[name], value) for name, value in before.items())


def test_its_weights_can_be_written_under_their_plain_names(run, out, cpu, tmp_path):
    pruned = prune(run, 0.25, out, cpu).run
    file = pruned.save_weights(tmp_path / "dense.safetensors")
    weights = load_file(file)
    assert weights.keys() == dict(run.model.state_dict()).keys()
    run.model.load_state_dict(weights)
    x = torch.randn(5, 2)
    assert torch.equal(run.model(x), pruned.model(x))


def test_each_round_prunes_the_same_share_of_what_is_left(run, out, cpu):
    pruned = prune(run, 0.125, out, cpu, rounds=3, beginning="rewind")
    assert [path.name for path in (one.path for one in pruned.rounds)] == ["round-1", "round-2", "round-3"]
    assert [pruned.share(one) for one in pruned.rounds] == [0.5, 0.25, 0.125]
    starts = [one.start for one in pruned.rounds]
    for before, after in itertools.pairwise(starts):
        for name, mask in after.masks.items():
            assert not (mask & ~before.masks[name]).any()
            assert torch.equal(after.weights[name][mask], before.weights[name][mask])  # all rewound to the first
    content = json.loads((out / "study.json").read_text())
    assert [one["kept"] for one in content["result"]["rounds"]] == [0.5, 0.25, 0.125]
    page = (out / "report.html").read_text()
    assert "round-3/report.html" in page
    assert "12.5%" in page


def test_reinitialised_has_the_masks_of_rewound(run, tmp_path, cpu):
    rewound = prune(run, 0.2, tmp_path / "a", cpu, rounds=2, beginning="rewind")
    other = prune(run, 0.2, tmp_path / "b", cpu, rounds=2, beginning="reinit")
    starts = rewound.run.start, other.run.start
    assert all(torch.equal(starts[0].masks[name], mask) for name, mask in starts[1].masks.items())
    assert not any(torch.equal(starts[0].weights[name], starts[1].weights[name]) for name in starts[0].masks)


def test_without_rewinding_each_round_goes_on_from_the_weights_before_it(run, out, cpu):
    pruned = prune(run, 0.3, out, cpu, rounds=2)
    before, start = pruned.rounds[0].chosen_weights(), pruned.rounds[1].start
    for name, mask in start.masks.items():
        assert torch.equal(start.weights[name][mask], before[name][mask])


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_same_call_goes_on_where_it_was_to_the_bit(run, out, cpu, tmp_path, rounds):
    whole = prune(run, 0.3, tmp_path / "whole", cpu, rounds=rounds)
    with pytest.raises(GradlabError, match="Stopped and saved at step 7"):
        prune(run, 0.3, out, cpu, rounds=rounds, observers=[Stop(7)])
    resumed = prune(run, 0.3, out, cpu, rounds=rounds)
    assert same_bytes(resumed.run, whole.run)
    assert resumed.run.test == whole.run.test
    assert prune(run, 0.3, out, cpu, rounds=rounds, observers=[Never()]).run.test == whole.run.test


@pytest.mark.parametrize("rounds", [1, 2])
def test_another_call_is_refused(run, out, cpu, rounds):
    with pytest.raises(GradlabError, match="Stopped and saved"):
        prune(run, 0.3, out, cpu, rounds=rounds, observers=[Stop(2)])
    for keep, asked, words in (
        (0.4, {}, r"begun with keep=0\.3"),
        (0.3, {"per_layer": True}, "begun with by=global"),
        (0.3, {"beginning": "rewind"}, "begun with start=trained"),
    ):
        with pytest.raises(GradlabError, match=words):
            prune(run, keep, out, cpu, rounds=rounds, observers=[Never()], **asked)


def test_a_folder_of_something_else_is_refused(run, cpu):
    with pytest.raises(GradlabError, match="is no pruned run"):
        prune(run, 0.3, run.path, cpu)


@pytest.mark.parametrize(("keep", "rounds"), [(0.5, 1), (0.25, 2), (0.2, 5), (0.001, 3)])
def test_shares_fall_by_the_same_factor_to_the_share_that_was_asked_for(keep, rounds):
    shares = [1.0, *shares_of(keep, rounds)]
    assert shares[-1] == keep
    assert [b / a for a, b in itertools.pairwise(shares)] == pytest.approx([keep ** (1 / rounds)] * rounds)
