"""Every check of every block holds, and finds the faults that were planted for it.

Every day run the twins, the peers, and those laws that find a planted fault which no twin or peer finds. The other laws
are slow tests, and so is the test that the everyday checks miss no planted fault.
"""

import pytest

from gradlab.nn.blocks import blocks
from gradlab.verification import Subject, checks, examples, run_check
from gradlab.verification.subject import subjects

CASES, CASES_OF_FAULTS = 20, 50  # the first case that fails ends a run
ALL = [check for block in checks for check in checks[block]]
FIND_ALONE = {
    "a cache changes nothing",
    "a masked key is no key",
    "a pair that never occurs has minus infinity",
    "a query that may look nowhere gets the bias",
    "a query that may look nowhere gets zero",
    "a query without keys gets zeros",
    "a score however low does not lose to a hidden one",
    "a shortcut brings the input to another shape",
    "a target may be given step by step",
    "an example is dropped whole or not at all",
    "at test time nothing is done",
    "directions at right angles vary less",
    "each example has its own mask",
    "each group sees its own channels",
    "features are positive",
    "fifty layers with relu keep the variance",
    "hopeless logits cost what they are far off",
    "it is a product with its matrix",
    "it is a recurrent network",
    "large inputs give no nan",
    "masked examples take no part",
    "no gradient crosses a cut",
    "some tokens at a time with a cache is all at once",
    "the slope at zero is zero",
    "the sum and the mean are those of the single losses",
    "the variance of a direction is known",
    "there are two parameters for each feature",
    "what is hidden might as well not be there",
}


def everyday(check):
    return check.kind != "law" or check.name in FIND_ALONE or check.block.startswith("maths.")


def parameter(check, *more):
    name = "-".join(map(str, (check.block, check.kind, check.name, *more)))
    return pytest.param(check, *more, id=name, marks=() if everyday(check) else pytest.mark.slow)


FAULTS = [parameter(check, number) for check in ALL for number in range(len(check.faults))]


def skip_where_it_cannot_run(check, result):
    """Without its peer or its kernel; no other reason for which a check is not made lets it pass here."""
    if check.needs:
        pytest.importorskip(check.needs)
    if "none can run here" in result.reason:
        pytest.skip(result.reason)


@pytest.mark.parametrize("check", [parameter(check) for check in ALL])
def test_the_check_holds(check):
    result = run_check(check, Subject.block(check.block), CASES)
    skip_where_it_cannot_run(check, result)
    assert result.passed, f"{result.reason} in {result.example}"
    assert result.cases > 0


@pytest.mark.parametrize(("check", "number"), FAULTS)
def test_the_check_finds_the_planted_fault(check, number):
    result = run_check(check, Subject(check.block, check.faults[number]), CASES_OF_FAULTS, smallest=False)
    skip_where_it_cannot_run(check, result)
    assert result.passed is False, result.reason
    assert result.reason.startswith("off by"), "the planted version must run, and be wrong"


@pytest.mark.slow
@pytest.mark.parametrize(("check", "number"), [fault for fault in FAULTS if fault.marks])
def test_an_everyday_check_finds_it_too(check, number):
    planted = Subject(check.block, check.faults[number])
    others = [other for other in checks[check.block] if everyday(other)]
    assert any(run_check(other, planted, CASES_OF_FAULTS, smallest=False).passed is False for other in others)


def test_every_law_has_a_planted_fault():
    assert [(check.block, check.name) for check in ALL if check.kind == "law" and not check.faults] == []


def test_every_block_is_verified():
    assert set(blocks) == set(examples)
    assert set(checks) == {*blocks, *subjects}
