"""What is drawn for a check."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from gradlab.verification.case import Case
from gradlab.verification.subject import Incomparable, Subject

RELU = Subject.block("activation.relu")


def cases(count=30, subject=RELU, room=None):
    """Some cases, kept."""
    kept = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def draw(data):
        kept.append(Case(data, subject, room))
        kept[-1].n = kept[-1].integer("n", 1, 9)
        kept[-1].d = kept[-1].integer("d", 1, 12, multiple_of=3)
        kept[-1].x = kept[-1].tensor("x", 3, 4)

    draw()
    return kept


def test_cases_differ_in_sizes_and_numbers():
    drawn = cases()
    assert len({case.n for case in drawn}) > 5
    assert len({tuple(case.x.flatten().tolist()) for case in drawn}) > 15


def test_two_tensors_of_a_case_differ():
    for case in cases(10):
        assert not torch.equal(case.tensor("q", 3, 4), case.tensor("k", 3, 4))


def test_some_cases_have_whole_numbers_and_some_have_not():
    whole = [bool((case.x == case.x.round()).all()) for case in cases()]
    assert any(whole)
    assert not all(whole)


def test_a_value_that_is_fixed_is_not_drawn():
    fixed = Subject("activation.prelu", nn.PReLU, {"n": 77})
    assert {case.n for case in cases(5, fixed)} == {77}


def test_small_cases_have_little_room():
    assert {case.n for case in cases(room=1)} == {1, 2}


def test_multiples():
    assert {case.d for case in cases()} == {3, 6, 9, 12}


def test_numbers_keep_away_from_kinks():
    for case in cases():
        assert case.tensor("kinked", 50, away_from=(0.0, 1.0)).abs().min() > 1e-3
        assert (case.tensor("again", 50, away_from=(0.0, 1.0)) - 1).abs().min() > 1e-3


def test_distinct_numbers_have_no_ties():
    for case in cases(10):
        assert case.distinct("x", 4, 5).flatten().sort().values.diff().min() > 0.09


def test_probabilities_sum_to_one_and_are_positive():
    for case in cases(10):
        p = case.distribution("p", 3, 5)
        assert (p > 0).all()
        torch.testing.assert_close(p.sum(-1), torch.ones(3, dtype=torch.float64))


def test_every_row_of_a_mask_lets_something_through():
    masks = [case.mask("m", 6, 3) for case in cases(20)]
    assert all(mask.any(-1).all() for mask in masks)
    assert not all(mask.all() for mask in masks)


def test_a_built_block_is_in_float64_with_parameters_that_are_not_the_first_ones():
    subject = Subject.block("activation.prelu")
    slopes = {cases(3, subject)[i].build(num_parameters=1).weight.item() for i in range(3)}
    assert len(slopes) > 1
    assert cases(1, subject)[0].build().weight.dtype == torch.float64


def test_weights_that_are_not_there_make_it_incomparable():
    case = cases(1)[0]
    with pytest.raises(Incomparable, match="no parameter gain; its own are weight, bias"):
        case.weights(nn.Linear(2, 2), "weight", "gain")
