import math

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError, divergences

P, Q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])


# Worked examples of the course


def test_one_direction_is_log_2_and_the_other_infinite():
    assert_close(divergences.kl(P, Q), torch.tensor(math.log(2)))
    assert divergences.kl(Q, P) == math.inf


def test_bits_are_nats_over_log_2():
    nats = divergences.kl(torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])).item()
    assert (round(nats, 4), round(nats / math.log(2), 4)) == (0.1438, 0.2075)


def test_a_detour_can_be_shorter():
    p, q, r = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.05, 0.95]])
    direct, detour = divergences.kl(p, r), divergences.kl(p, q) + divergences.kl(q, r)
    assert (round(direct.item(), 3), round(detour.item(), 3)) == (0.830, 0.369)


def test_the_two_directions_of_normal_distributions():
    mean, std, zero, one = torch.zeros(1), torch.tensor([0.1]).sqrt(), torch.zeros(1), torch.ones(1)
    assert round(divergences.kl_gaussian(zero, one, mean, std).item(), 4) == 3.3487
    assert round(divergences.kl_gaussian(mean, std).item(), 4) == 0.7013


def test_the_evidence_is_bounded_by_it():
    """z ~ N(0, 1) and x | z ~ N(z, 1): the bound is tight for the posterior N(x/2, 1/2) alone."""
    x = 1.2
    evidence = -0.5 * math.log(2 * math.pi * 2) - x**2 / 4

    def bound(mean, variance):
        fit = -0.5 * math.log(2 * math.pi) - 0.5 * ((x - mean) ** 2 + variance)
        return fit - divergences.kl_gaussian(torch.tensor([mean]), torch.tensor([variance]).sqrt()).item()

    assert bound(0.6, 0.5) == pytest.approx(evidence, abs=1e-6)
    assert round(bound(1.0, 0.3), 4) == -1.8409 < evidence


def test_a_joint_table():
    joint = torch.tensor([[0.5, 0.0], [0.25, 0.25]], dtype=torch.float64)
    wanted = 0.5 * math.log(4 / 3) + 0.25 * math.log(2 / 3) + 0.25 * math.log(2)
    assert_close(divergences.mutual_information(joint), torch.tensor(wanted, dtype=torch.float64))


# Numbers at the edge


@pytest.mark.parametrize("name", ["kl", "cross_entropy", "jensen_shannon"])
def test_probabilities_that_were_rounded_to_0_spoil_no_gradient(name):
    logits = torch.tensor([0.0, 1.0, -200.0], requires_grad=True)
    value = getattr(divergences, name)(logits.softmax(-1), torch.tensor([0.2, 0.3, 0.5]))
    value.backward()
    assert value.isfinite()
    assert logits.grad.isfinite().all()


def test_the_entropy_of_probabilities_that_were_rounded_to_0_has_a_gradient():
    logits = torch.tensor([0.0, 1.0, -200.0], requires_grad=True)
    divergences.entropy(logits.softmax(-1)).backward()
    assert logits.grad.isfinite().all()
    assert logits.grad.any()


def test_rare_pairs_are_not_lost():
    rare = torch.tensor([[1.0, 0.0], [0.0, 1e-30]])
    assert_close(divergences.pmi(rare)[1, 1], torch.tensor(30 * math.log(10)))
    assert divergences.mutual_information(rare).isfinite()


def test_a_row_that_never_occurs_changes_nothing():
    joint = torch.tensor([[0.5, 0.25, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    value = divergences.mutual_information(joint)
    value.backward()
    assert_close(value, divergences.mutual_information(joint[:2, :2]))
    assert joint.grad.isfinite().all()
    assert (divergences.pmi(joint)[2] == -math.inf).all()


@pytest.mark.parametrize("order", [1.0, 2.0, 8.0, math.inf])
def test_small_differences_keep_their_distance(order):
    p = torch.tensor([1e-12, 0.0, 0.0], requires_grad=True)
    distance = divergences.lp(p, torch.zeros(3), order=order)
    distance.backward()
    assert_close(distance.item(), 1e-12, rtol=1e-5, atol=0)
    assert_close(p.grad, torch.tensor([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_the_distance_to_itself_has_a_gradient(order):
    p = torch.tensor([0.25, 0.75], requires_grad=True)
    divergences.lp(p, p.detach().clone(), order=order).backward()
    assert not p.grad.any()


def test_an_order_below_1_is_told():
    with pytest.raises(GradlabError) as error:
        divergences.lp(P, Q, order=0.5)
    assert str(error.value) == "divergence.lp: order must be float ≥ 1, got 0.5."


def test_a_std_of_0_is_told():
    with pytest.raises(GradlabError, match="other_std must be positive"):
        divergences.kl_gaussian(P, Q, 0.0, 0.0)


def test_other_outcomes_are_told():
    with pytest.raises(ShapeError) as error:
        divergences.kl(P, torch.tensor([0.5, 0.5]))
    assert str(error.value) == "divergence.kl: q must have shape (…batch, outcomes=3), got (2,)."


def test_many_distributions_at_once():
    p, q = torch.rand(2, 3, 4).softmax(-1), torch.rand(2, 3, 4).softmax(-1)
    wanted = torch.stack(
        [divergences.jensen_shannon(a, b) for a, b in zip(p.flatten(0, 1), q.flatten(0, 1), strict=True)]
    )
    assert_close(divergences.jensen_shannon(p, q), wanted.reshape(2, 3))
    assert divergences.entropy(torch.zeros(0, 4)).shape == (0,)


# Units


@pytest.mark.parametrize("base", [2, 10.0])
def test_units_are_those_of_scipy(base):
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import entropy

    p, q = torch.tensor([0.5, 0.3, 0.2]).double(), torch.tensor([0.25, 0.25, 0.5]).double()
    assert divergences.entropy(p, base=base).item() == pytest.approx(entropy(p, base=base))
    assert divergences.kl(p, q, base=base).item() == pytest.approx(entropy(p, q, base=base))
    assert divergences.jensen_shannon(p, q, base=base).item() == pytest.approx(jensenshannon(p, q, base=base) ** 2)


@pytest.mark.parametrize("base", [1, 0.5, -2.0, math.nan, math.inf, "2", True])
def test_a_base_that_is_none_is_told(base):
    with pytest.raises(GradlabError, match=r"divergence.kl: base must be .*, got "):
        divergences.kl(P, Q, base=base)
