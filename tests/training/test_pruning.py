"""What a pruned run begins with: the weights of its recipe and seed, of the trained run, or of another seed."""

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.recipes import find
from gradlab.registry import Part
from gradlab.run.start import Start
from gradlab.specs import Picture, Tokens
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer
from gradlab.training.pruning import Pruner, prunable

CPU = torch.device("cpu")
SMALL = {"data.examples": 120, "model.hidden": [8, 8], "train.steps": 12, "train.evaluate_every": 4}


class First(Observer):
    """The weights before the first step."""

    def start(self, training):
        self.weights = {name: value.clone() for name, value in training.model.state_dict().items()}


def trained(tmp_path, changes=None, recipe="moons-mlp", name="run"):
    first = First()
    recipe = find(recipe).override({**(SMALL if recipe == "moons-mlp" else {}), **(changes or {})})
    return experiment.start(Experiment.of(recipe, CPU), tmp_path / name, [first]), first.weights


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("changes", [{}, {"train.seed": 5, "model.dropout": 0.3}], ids=str)
def test_recipe_and_seed_give_the_weights_of_step_zero_again(tmp_path, changes):
    run, first = trained(tmp_path, changes)
    torch.manual_seed(99)
    assert equal(Pruner.of(run, CPU).initial(), first)
    assert not equal(run.chosen_weights(), first)


def test_so_they_do_for_batch_normalisation_and_convolutions(tmp_path):
    changes = {"model": "resnet20", "model.width": 4, "train.steps": 2, "data.limit": 64}
    run, first = trained(tmp_path, changes, "digits-mlp")
    assert equal(Pruner.of(run, CPU).initial(), first)


def test_the_map_to_one_number_is_pruned_too(tmp_path):
    run, _ = trained(tmp_path, {"train.steps": 3, "train.optimizer": "adam"}, "diabetes-linear")
    (mask,) = Pruner.of(run, CPU).start(0.5).masks.values()
    assert mask.shape[0] == 1
    assert int(mask.sum()) == round(0.5 * mask.numel())


@pytest.mark.parametrize("beginning", ["trained", "rewind", "reinit"])
def test_kept_weights_begin_as_asked_and_the_others_at_zero(tmp_path, beginning):
    run, first = trained(tmp_path)
    pruner = Pruner.of(run, CPU)
    start = pruner.start(0.3, beginning)
    source = {"trained": run.chosen_weights(), "rewind": first, "reinit": pruner.anew()}[beginning]
    assert start.masks.keys() == {"0.weight", "2.weight", "4.weight"}
    for name, weights in start.weights.items():
        mask = start.masks.get(name, torch.ones_like(weights, dtype=torch.bool))
        assert torch.equal(weights[mask], source[name][mask])
        assert not weights[~mask].any()
    kept = sum(int(mask.sum()) for mask in start.masks.values())
    assert kept == start.pruning["kept"] == round(0.3 * start.pruning["weights"])
    assert all(torch.equal(mask, pruner.start(0.3).masks[name]) for name, mask in start.masks.items())


def test_weights_that_are_drawn_anew_are_others_and_always_the_same(tmp_path):
    run, first = trained(tmp_path)
    once, again = (Pruner.of(run, CPU).anew() for _ in range(2))
    assert equal(once, again)
    assert all(not torch.equal(once[name], first[name]) for name in first)


def test_what_is_pruned_again_loses_more_and_rewinds_to_the_same_weights(tmp_path):
    run, first = trained(tmp_path)
    start = Pruner.of(run, CPU).start(0.5, "rewind")
    second = experiment.start(Experiment.of(run.recipe, CPU, start=start), tmp_path / "second")
    again = Pruner.of(second, CPU).start(0.25, "rewind")
    for name, mask in again.masks.items():
        assert not (mask & ~start.masks[name]).any()
        assert torch.equal(again.weights[name][mask], first[name][mask])
    assert again.pruning["kept"] == round(0.25 * start.pruning["weights"])
    with pytest.raises(GradlabError, match=r"has 50% of its weights: no more can be kept"):
        Pruner.of(second, CPU).start(0.6)
    each = Pruner.of(second, CPU).start(0.5, per_layer=True)  # of which some layers have less
    assert not any((mask & ~start.masks[name]).any() for name, mask in each.masks.items())


def test_frozen_parts_are_not_pruned(tmp_path):
    run, _ = trained(tmp_path, {"train.freeze": ["2"]})
    assert Pruner.of(run, CPU).start(0.3).masks.keys() == {"0.weight", "4.weight"}


def test_a_start_is_read_as_it_was_written_and_refused_where_a_byte_has_changed(tmp_path):
    run, _ = trained(tmp_path)
    start = Pruner.of(run, CPU).start(0.3)
    start.write(tmp_path / "start")
    found = Start.read(tmp_path / "start")
    assert equal(found.weights, start.weights)
    assert equal(found.masks, start.masks)
    assert found.pruning == start.pruning
    path = tmp_path / "start" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(GradlabError, match=r"model\.safetensors is damaged"):
        Start.read(tmp_path / "start")


@pytest.mark.parametrize(
    ("model", "spec", "some", "none"),
    [
        (Part("lenet"), Picture(1, 28, 28), ["weight"], ["bias"]),
        (Part("resnet18", {}), Picture(3, 32, 32), ["conv1.weight", "fc.weight"], ["bn", "bias"]),
        (Part("gpt", {"layers": 1, "dim": 16, "heads": 2}), Tokens(8, 30), ["attention", "weight"], ["norm", "embed"]),
        (Part("rnn", {"layers": 1, "dim": 16}), Tokens(8, 30), ["weight"], ["bias", "embed"]),
        (Part("vit", {}), Picture(1, 28, 28), ["weight"], ["norm", "position", "bias"]),
    ],
    ids=lambda value: value.name if isinstance(value, Part) else "",
)
def test_matrices_and_kernels_are_pruned_and_no_gains_biases_or_tables(model, spec, some, none):
    built = build_model(model, spec, 30)
    names = prunable(built)
    assert all(any(part in name for name in names) for part in some), names
    assert not any(part in name for name in names for part in none), names
    assert {p.ndim for name, p in built.named_parameters() if name in names} <= {2, 3, 4}
