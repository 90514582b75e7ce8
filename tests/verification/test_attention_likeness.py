"""What is said of attention as people write it."""

from pathlib import Path

import pytest
from torch import nn

from gradlab.verification import Subject, checks, judge
from gradlab.verification.strangers import find

FILE = Path(__file__).with_name("wrong_attention.py")
CASES = 15


def verdicts(name, like="attention.multihead", **values):
    made = name if not isinstance(name, str) else find(f"{FILE}:{name}")
    subject = Subject.like(like, made, values)
    return {check.name: judge(check, subject, CASES) for check in checks[like]}


def outcomes(found, passed):
    return {name for name, verdict in found.items() if verdict.passed is passed}


TWIN, PEER = "scratch.attention.multi_head", "torch.nn.MultiheadAttention"
HIDDEN, NOWHERE = "what is hidden might as well not be there", "a query that may look nowhere gets the bias"
CAUSAL, CACHE = "no result knows of later tokens", "some tokens at a time with a cache is all at once"


def test_the_right_one_passes_everything():
    found = verdicts("Attention")
    assert outcomes(found, False) == set()
    assert outcomes(found, None) == {CACHE}
    assert found[CACHE].reason == "it takes no cache"


def test_scaling_by_d_is_found_in_a_tiny_example():
    found = verdicts("DividedByTheDimension")
    assert {TWIN, PEER, "each head adds its own part"} <= outcomes(found, False)
    assert HIDDEN in outcomes(found, True)
    example = found[TWIN].example
    assert example["num_heads"] == 1
    assert example["embed_dim"] == 2  # with 1 there is no difference
    assert example["batch"] == 1
    assert example["n"] <= 2
    assert found[TWIN].reason.startswith("off by")


@pytest.mark.parametrize("name", ["MaskedAfterTheSoftmax", "LoweredAfterTheSoftmax"])
def test_masking_after_the_softmax_breaks_a_law_in_a_tiny_example(name):
    found = verdicts(name)
    assert {TWIN, PEER, HIDDEN, CAUSAL} <= outcomes(found, False)
    assert "the order of tokens is carried through" in outcomes(found, True)
    for check in (TWIN, HIDDEN):
        sizes = [found[check].example[size] for size in ("num_heads", "embed_dim", "batch", "n")]
        assert max(sizes) <= 2, found[check].example
    assert not found[HIDDEN].example["visible"].all()


def test_one_input_other_names_no_biases_and_weights_beside_the_result():
    found = verdicts("SelfAttention", d_model=4, n_heads=2, embed_dim=4, num_heads=2)
    assert {TWIN, PEER, HIDDEN, CAUSAL} <= outcomes(found, True)
    assert outcomes(found, False) == {NOWHERE}  # it looks everywhere instead
    reasons = {name: found[name].reason for name in outcomes(found, None)}
    assert "it takes one input" in reasons["the order of keys is nothing"]


def test_without_a_mask_the_laws_about_masks_are_not_made():
    found = verdicts("WithoutMask")
    assert outcomes(found, False) == set()
    assert {TWIN, PEER} <= outcomes(found, True)
    assert {HIDDEN, NOWHERE, CAUSAL} <= outcomes(found, None)
    assert found[HIDDEN].reason == "it is called with x, none of which is a mask"


def test_weights_that_cannot_be_found_are_told():
    found = verdicts("Unnamed")
    assert found[TWIN].passed is None
    assert found[TWIN].reason.startswith(
        "it has no parameter q_proj.weight, nor one of another usual name; its own are"
    )


def test_a_module_that_is_built_keeps_its_weights():
    module = find(f"{FILE}:Attention")(6, 3)
    module.embed_dim = 6
    before = module.q_proj.weight.clone()
    found = verdicts(module)
    assert outcomes(found, False) == set()
    assert module.q_proj.weight.equal(before)


def test_a_bias_that_only_some_have_cannot_be_arranged():
    module = find(f"{FILE}:Attention")(4, 2)
    module.k_proj = nn.Linear(4, 4, bias=False)
    found = verdicts(module, embed_dim=4)
    assert found[TWIN].passed is None
    assert "some have a bias, and some have none" in found[TWIN].reason


def test_a_function_can_be_like_scaled_dot_attention():
    found = verdicts("scaled_dot_product", "attention.scaled_dot")
    assert outcomes(found, None) == set()
    assert outcomes(found, False) == {"a query that may look nowhere gets zero"}


def test_a_class_without_a_constructor_can_be_like_scaled_dot_attention():
    found = verdicts("Plain", "attention.scaled_dot")
    assert outcomes(found, True) == set(found)


def test_a_class_without_settings_can_be_like_scaled_dot_attention():
    found = verdicts("DotProductAttention", "attention.scaled_dot")
    assert outcomes(found, False) == set()
    assert "scratch.attention.scaled_dot" in outcomes(found, True)
    assert "what is hidden might as well not be there" in outcomes(found, None)
