"""What is said of attention as people write it."""

from pathlib import Path

import pytest
from torch import nn

from gradlab.verification import Subject, checks, run_check
from gradlab.verification.user_code import import_object

FILE = Path(__file__).with_name("wrong_attention.py")
CASES = 15


def results(name, like="attention.multihead", **values):
    implementation = name if not isinstance(name, str) else import_object(f"{FILE}:{name}")
    subject = Subject.like(like, implementation, values)
    return {check.name: run_check(check, subject, CASES) for check in checks[like]}


def outcomes(checked, passed):
    return {name for name, result in checked.items() if result.passed is passed}


TWIN, PEER = "scratch.attention.multi_head", "torch.nn.MultiheadAttention"
BACK = f"{TWIN}, with is_causal"
HIDDEN, NOWHERE = "what is hidden might as well not be there", "a query that may look nowhere gets the bias"
CAUSAL, CACHE = "no result knows of later tokens", "some tokens at a time with a cache is all at once"


def test_the_right_one_passes_everything():
    checked = results("Attention")
    assert outcomes(checked, False) == set()
    assert outcomes(checked, None) == {CACHE, NOWHERE, BACK}
    assert checked[BACK].reason == "it takes no is_causal"
    assert checked[CACHE].reason == "it takes no cache"


def test_scaling_by_d_is_found_in_a_tiny_example():
    checked = results("DividedByTheDimension")
    assert {TWIN, PEER, "each head adds its own part"} <= outcomes(checked, False)
    assert HIDDEN in outcomes(checked, True)
    example = checked[TWIN].example
    assert example["num_heads"] == 1
    assert example["embed_dim"] == 2  # with 1 there is no difference
    assert example["batch"] == 1
    assert example["n"] <= 2
    assert checked[TWIN].reason.startswith("off by")


@pytest.mark.parametrize("name", ["MaskedAfterTheSoftmax", "LoweredAfterTheSoftmax"])
def test_masking_after_the_softmax_breaks_a_law_in_a_tiny_example(name):
    checked = results(name)
    assert {TWIN, PEER, HIDDEN, CAUSAL} <= outcomes(checked, False)
    assert "the order of tokens is carried through" in outcomes(checked, True)
    for check in (TWIN, HIDDEN):
        sizes = [checked[check].example[size] for size in ("num_heads", "embed_dim", "batch", "n")]
        assert max(sizes) <= 2, checked[check].example
    assert not checked[HIDDEN].example["visible"].all()


def test_one_input_other_names_no_biases_and_weights_beside_the_result():
    checked = results("SelfAttention", d_model=4, n_heads=2, embed_dim=4, num_heads=2)
    assert {TWIN, PEER, HIDDEN, CAUSAL} <= outcomes(checked, True)
    assert outcomes(checked, False) == set()
    reasons = {name: checked[name].reason for name in outcomes(checked, None)}
    assert "it takes one input" in reasons["the order of keys is nothing"]


def test_without_a_mask_the_laws_about_masks_are_not_made():
    checked = results("WithoutMask")
    assert outcomes(checked, False) == set()
    assert {TWIN, PEER} <= outcomes(checked, True)
    assert {HIDDEN, NOWHERE, CAUSAL} <= outcomes(checked, None)
    assert checked[HIDDEN].reason == "it is called with x, none of which is a mask"


def test_weights_that_cannot_be_found_are_told():
    checked = results("Unnamed")
    assert checked[TWIN].passed is None
    assert checked[TWIN].reason.startswith("it has no parameter in_proj_weight, in_proj_bias, out_proj.weight")
    assert checked[TWIN].reason.endswith("layers.3.weight, layers.3.bias; say in_proj_weight=NAME")


def test_weights_that_are_told_are_taken():
    parts = {f"in_proj_{kind}": "+".join(f"layers.{i}.{kind}" for i in range(3)) for kind in ("weight", "bias")}
    after = {f"out_proj.{kind}": f"layers.3.{kind}" for kind in ("weight", "bias")}
    subject = Subject.like("attention.multihead", import_object(f"{FILE}:Unnamed"), parts | after)
    twin = next(check for check in checks["attention.multihead"] if check.name == TWIN)
    assert run_check(twin, subject, 5, smallest=False).passed is False  # it gives its input back


def test_a_module_that_is_built_keeps_its_weights():
    module = import_object(f"{FILE}:Attention")(6, 3)
    module.embed_dim = 6
    before = module.q_proj.weight.clone()
    checked = results(module)
    assert outcomes(checked, False) == set()
    assert module.q_proj.weight.equal(before)


def test_a_bias_that_only_some_have_is_0_for_the_others():
    module = import_object(f"{FILE}:Attention")(4, 2)
    module.k_proj = nn.Linear(4, 4, bias=False)
    checked = results(module, embed_dim=4)
    assert {TWIN, PEER} <= outcomes(checked, True)


def test_a_function_can_be_like_scaled_dot_attention():
    checked = results("scaled_dot_product", "attention.scaled_dot")
    assert outcomes(checked, None) == {"a query that may look nowhere gets zero"}  # it looks everywhere instead
    assert outcomes(checked, False) == set()


def test_a_class_without_a_constructor_can_be_like_scaled_dot_attention():
    checked = results("Plain", "attention.scaled_dot")
    assert outcomes(checked, False) == set()
    assert {"scratch.attention.scaled_dot", "what is hidden might as well not be there"} <= outcomes(checked, True)


def test_a_class_without_settings_can_be_like_scaled_dot_attention():
    checked = results("DotProductAttention", "attention.scaled_dot")
    assert outcomes(checked, False) == set()
    assert "scratch.attention.scaled_dot" in outcomes(checked, True)
    assert "what is hidden might as well not be there" in outcomes(checked, None)
