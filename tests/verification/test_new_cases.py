"""All of `gradlab verify` on random cases that nobody has tried before."""

import secrets

import pytest

from gradlab.verification import CASES, Subject, block_names, verify_block

SEED = secrets.randbelow(2**31)
FAMILIES = sorted({name.partition(".")[0] for name in block_names([])})


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_check_of_a_family_holds_for_a_new_seed(family):
    command = f"gradlab verify {family} --seed {SEED}"
    print(command)
    for name in block_names([family]):
        verification = verify_block(Subject.block(name, seed=SEED), name, CASES)
        broken = [f"{name}, {result.name}: {result.reason}" for result in verification.broken]
        assert not broken, f"{command}: {broken}"
        assert any(result.cases for result in verification.results) or all(
            "none can run here" in result.reason for result in verification.results
        )
