"""Strangers' modules: what is right is accepted, and each fault of it is rejected."""

from typing import Any

import everyday_apart
import everyday_cases
import pytest
import reserve_cases
import set_aside
import textbook_cases
from cases import STRANGERS, Stranger

from gradlab.verification import running

SAMPLE = {"swish", "HFRMSNorm", "TimmAttention", "TutorialLSTMCell", "SpatialDropout", "LlamaRotary"}
SAMPLE |= {"MaskOfExamples", "FloatRMSNorm", "CausalLinearAttention", "PlainStateBatchNorm"}
SAMPLE |= {"LengthsDotAttention", "CausalSelfAttention", "GateLast", "FrozenPositions", "ElementDropout", "ScratchRNN"}
SAMPLE |= {"EinsumAttention", "BiGRU", "kl_loss", "StackedLSTM", "UnfoldConv2d", "linear_attention"}
"""Those of every day."""

OTHERS = (set_aside, textbook_cases, reserve_cases, everyday_cases, everyday_apart)


@pytest.fixture(autouse=True)
def no_smallest_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the verdict is asked for, and looking for the smallest case takes most of the time."""
    run = running.run_check
    monkeypatch.setattr(running, "run_check", lambda *args, **options: run(*args, **{**options, "smallest": False}))


def rows(*, wrong: bool) -> list[Any]:
    return [
        pytest.param(
            stranger,
            *([change] if wrong else []),
            id=f"{stranger.where}-{i}",
            marks=() if stranger.where.partition(":")[2] in SAMPLE else pytest.mark.slow,
        )
        for stranger in STRANGERS + [stranger for part in OTHERS for stranger in part.STRANGERS]
        for i, change in enumerate(stranger.faults if wrong else [None])
    ]


@pytest.mark.parametrize("stranger", rows(wrong=False))
def test_a_right_module_is_accepted(stranger: Stranger) -> None:
    verification = stranger.verify()
    assert verification.verdict == "agrees", str(verification)


@pytest.mark.parametrize(("stranger", "change"), rows(wrong=True))
def test_a_fault_is_found(stranger: Stranger, change: tuple[str, str]) -> None:
    verification = stranger.verify(change)
    assert verification.verdict == "broken", str(verification)
