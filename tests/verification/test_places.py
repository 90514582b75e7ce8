"""Blocks and kernels in smaller types than float64, beside their twins in float64."""

import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.kernels import add_norm
from gradlab.kernels import linear_attention as attention
from gradlab.nn.blocks import find_block
from gradlab.verification import Place, Subject, checks, run_check, verify_block
from gradlab.verification.place import ROUNDINGS
from gradlab.verification.subject import subjects

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TWINS = [check for block in checks for check in checks[block] if check.kind == "twin"]


def parameters():
    for check in TWINS:
        for name, dtype in DTYPES.items():
            everyday = name == "bfloat16" and check.block != "kernel.linear_attention"
            marks = () if everyday else pytest.mark.slow
            yield pytest.param(check, dtype, id=f"{check.block}-{check.name}-{name}", marks=marks)


@pytest.mark.parametrize(("check", "dtype"), [*parameters()])
def test_the_twin_agrees_but_for_rounding(check, dtype):
    result = run_check(check, Subject.block(check.block, Place(dtype=dtype)), 8)
    if result.passed is None:
        assert (check.block, check.name) in {
            ("neuron.perceptron", "scratch.perceptron.learn"),
            ("kernel.small_update", "torch.optim.adam.Adam"),
        }
        return
    assert result.passed, f"{result.reason} in {result.example}"
    assert result.cases > 0


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("block", ["activation.relu", "loss.squared", "norm.rms", "attention.scaled_dot"])
def test_an_error_of_a_few_times_the_tolerance_is_found(block, dtype):
    place = Place(dtype=dtype)
    off = 1 + 4 * place.tolerance(0.0, ROUNDINGS) * place.growth(9)  # of the longest sums
    right = find_block(block)

    def build(*args, **settings):
        made = right(*args, **settings)
        if isinstance(made, nn.Module):
            made.register_forward_hook(lambda module, inputs, output: output * off)
            return made
        return made * off

    assert not verify_block(Subject(block, build, place=place), block, 20).passed
    assert verify_block(Subject(block, right, place=place), block, 20).passed


def test_a_block_that_is_rounded_on_its_way_is_told_from_one_that_is_not():
    """What float32 promises is not kept by who goes through bfloat16."""

    class Rounds(nn.Module):
        def forward(self, x):
            return torch.relu(x.bfloat16()).to(x.dtype)

    assert not gl.verify(Rounds, like="activation.relu", dtype="float32").passed
    assert gl.verify(Rounds, like="activation.relu", dtype="bfloat16").passed


@pytest.mark.parametrize("dtype", ["float64", *DTYPES])
def test_a_fault_in_a_kernels_form_in_pytorch_is_found(dtype, monkeypatch):
    right = add_norm.plain_add_norm
    monkeypatch.setattr(add_norm, "plain_add_norm", lambda x, delta, *rest: right(x, delta * 1.3, *rest))
    verification = gl.verify("kernel.add_norm", dtype=dtype, cases=5)
    assert [result.name for result in verification.broken] == ["scratch.normalisation.layer_norm"]


def test_a_state_that_is_lost_is_found(monkeypatch):
    right = attention.read_causal
    lost = lambda q, keys, state, chunk: right(q, keys, keys.nothing, chunk)  # noqa: E731
    monkeypatch.setattr(attention, "read_causal", lost)
    names = [result.name for result in gl.verify("kernel.linear_attention", dtype="bfloat16", cases=8).broken]
    assert names == ["scratch.linear_attention.weighted, from state to state"]


def test_an_own_function_stands_in_for_a_kernel():
    naive = lambda x, weight, bias: torch.nn.functional.linear(x, weight, bias)  # noqa: E731
    assert gl.verify(naive, like="kernel.affine", dtype="bfloat16", cases=5).passed
    assert not gl.verify(lambda x, weight, bias: x @ weight.T, like="kernel.affine", dtype="bfloat16", cases=20).passed


def test_what_an_own_function_does_not_take_is_skipped():
    def causal_alone(q, k, v, mask=None, *, feature_map="elu", omega=None, is_causal=False):
        return attention.linear_attention(q, k, v, mask, feature_map=feature_map, omega=omega, is_causal=is_causal)

    whole, packed, parts = gl.verify(causal_alone, like="kernel.linear_attention", dtype="float32", cases=4).results
    assert whole.passed
    assert (packed.passed, parts.passed) == (None, None)
    assert "lengths" in packed.reason
    assert parts.reason == "it takes no state"


def test_what_pytorch_cannot_do_in_a_type_is_skipped_and_says_so():
    class Unable(nn.Module):
        def forward(self, x):
            raise NotImplementedError("\"relu\" not implemented for 'Half'")

    (result,) = verify_block(Subject("activation.relu", Unable, place=Place(dtype=torch.float16)), "unable").results
    assert result.passed is None
    assert "\"relu\" not implemented for 'Half'" in result.reason
    assert not verify_block(Subject("activation.relu", Unable), "unable", 3)  # nor is it right in float64


def test_every_kernel_has_a_twin():
    assert {check.block for check in TWINS} >= {name for name in subjects if name.startswith("kernel.")}
