"""Masks by magnitude are those of torch.nn.utils.prune, nested from round to round."""

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from gradlab.errors import GradlabError
from gradlab.training.magnitude import magnitude_masks


def network():
    model = nn.Sequential(nn.Linear(9, 20), nn.ReLU(), nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 4))
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def weights_of(model):
    return {
        f"{i}.weight": module.weight.detach().clone() for i, module in enumerate(model) if hasattr(module, "weight")
    }


def judged(model, amounts, per_layer):
    """Masks of torch, which prunes further in each call what is left, by numbers of weights."""
    layers = {f"{i}.weight": module for i, module in enumerate(model) if isinstance(module, nn.Linear)}
    for amount in amounts:
        if per_layer:
            for name, layer in layers.items():
                prune.l1_unstructured(layer, "weight", amount=amount[name])
        else:
            prune.global_unstructured(
                [(layer, "weight") for layer in layers.values()], prune.L1Unstructured, amount=amount
            )
    return {name: layer.weight_mask.bool() for name, layer in layers.items()}


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.2, 0.07])
@pytest.mark.parametrize("per_layer", [False, True])
def test_masks_are_those_of_torch(keep, per_layer):
    model = network()
    weights = weights_of(model)
    sizes = {name: w.numel() for name, w in weights.items()}
    amounts = {name: size - round(keep * size) for name, size in sizes.items()}
    every = sum(sizes.values())
    expected = judged(model, [amounts if per_layer else every - round(keep * every)], per_layer)
    found = magnitude_masks(weights, keep, per_layer=per_layer)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("per_layer", [False, True])
def test_a_second_round_prunes_what_is_left_as_torch_does(per_layer):
    model = network()
    weights = weights_of(model)
    sizes = {name: w.numel() for name, w in weights.items()}
    first = magnitude_masks(weights, 0.5, per_layer=per_layer)
    trained = {name: torch.randn_like(w) * first[name] for name, w in weights.items()}
    found = magnitude_masks(trained, 0.25, first, per_layer=per_layer)

    def pruned(masks):
        counts = {name: int((~mask).sum()) for name, mask in masks.items()}
        return counts if per_layer else sum(counts.values())

    judged(model, [pruned(first)], per_layer)
    with torch.no_grad():
        for name, w in trained.items():
            model[int(name[0])].weight_orig.copy_(w)
    model(torch.randn(1, 9))  # torch makes its masked weights in the pass, and looks at those
    rest = {n: sizes[n] - round(0.25 * sizes[n]) - pruned(first)[n] for n in sizes} if per_layer else (
        sum(sizes.values()) - round(0.25 * sum(sizes.values())) - pruned(first)
    )  # fmt: skip
    expected = judged(model, [rest], per_layer)
    for name in expected:
        assert torch.equal(found[name], expected[name])
        assert not (found[name] & ~first[name]).any()


def test_a_weight_that_is_zero_but_not_pruned_goes_before_one_that_is():
    weights = {"w": torch.tensor([[0.0, 0.0, 1.0, 0.0]])}
    before = {"w": torch.tensor([[False, True, True, False]])}
    assert magnitude_masks(weights, 0.5, before)["w"].tolist() == [[False, True, True, False]]


def test_of_equal_weights_the_first_are_kept():
    assert magnitude_masks({"w": torch.ones(2, 3)}, 0.5)["w"].tolist() == [[True, True, True], [False, False, False]]


def test_all_are_kept_at_one():
    assert all(mask.all() for mask in magnitude_masks(weights_of(network()), 1.0).values())


def test_a_layer_of_which_nothing_would_be_left_is_named():
    weights = {"small": torch.full((3, 3), 0.01), "large": torch.ones(9, 9)}
    with pytest.raises(GradlabError, match=r"At 50% of the weights nothing is left of the 9 of small.*--per-layer"):
        magnitude_masks(weights, 0.5)
    magnitude_masks(weights, 0.5, per_layer=True)
    with pytest.raises(
        GradlabError, match=r"nothing is left of the 9 of small: no input would pass it\. Keep more \(--keep\)\.$"
    ):
        magnitude_masks(weights, 0.05, per_layer=True)
