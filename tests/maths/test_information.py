"""Information of distributions, densities and samples: against scipy and scikit-learn, and what is refused."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import mutual_info_score
from torch.distributions import Categorical, Exponential, Laplace, MixtureSameFamily, Normal, Uniform

from gradlab.errors import GradlabError
from gradlab.maths import information
from gradlab.maths.quadrature import integrate

JOINT = np.array([[0.3, 0.1, 0.05], [0.05, 0.2, 0.3]])


# What is given


@pytest.mark.parametrize("name", ["entropy", "joint_entropy", "conditional_entropy", "mutual_information"])
def test_arrays_give_arrays_lists_and_tensors_give_tensors(name):
    function, p = getattr(information, name), JOINT if name != "entropy" else JOINT.ravel()
    assert isinstance(function(p), np.ndarray)
    assert isinstance(function(p.tolist()), torch.Tensor)
    assert float(function(p)) == pytest.approx(float(function(torch.from_numpy(p))))


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], "p: probabilities must sum to 1, and these sum to 1.1. Divide them by their sum."),
        ([[0.5, 0.5], [0.5, 0.2]], [0.5, 0.5], r"p: probabilities must sum to 1, and those of p\[1\] sum to 0.7"),
        ([0.5, 0.5], [1.5, -0.5], r"q\[1\] is -0.5: a probability is a number of at least 0."),
        ([0.5, math.nan], [0.5, 0.5], r"p\[1\] is nan: a probability"),
        ([0.5, 0.5], [0.5, 0.25, 0.25], "p is over 2 outcomes and q over 3: both must name the same ones"),
        ([], [0.5, 0.5], "p: a distribution has at least one outcome"),
    ],
)
@pytest.mark.parametrize("name", ["kl", "cross_entropy", "jensen_shannon", "total_variation"])
def test_what_is_no_distribution_is_told(name, p, q, message):
    with pytest.raises(GradlabError, match=message):
        getattr(information, name)(p, q)


def test_a_table_is_summed_as_a_whole():
    with pytest.raises(GradlabError, match="these sum to 2"):
        information.mutual_information([[0.5, 0.5], [0.5, 0.5]])


def test_float32_has_room_for_its_roundings():
    p = torch.rand(50_000).softmax(-1)
    assert information.entropy(p).item() == pytest.approx(math.log(50_000), rel=0.01)


@pytest.mark.parametrize("wrong", [-0.1, 1.2, math.nan])
def test_the_surprise_of_no_probability_is_told(wrong):
    with pytest.raises(GradlabError, match="a probability is a number from 0 to 1"):
        information.surprise([0.5, wrong])


def test_unknown_words_are_told():
    with pytest.raises(GradlabError, match="divergence"):
        information.mutual_information(JOINT, form="divergance")
    with pytest.raises(GradlabError, match="rows"):
        information.conditional_entropy(JOINT, given="row")


def test_measures_of_a_table_by_hand():
    rows, columns = JOINT.sum(1), JOINT.sum(0)
    given = sum(r * stats.entropy(row / r) for r, row in zip(rows, JOINT, strict=True))
    assert float(information.conditional_entropy(JOINT)) == pytest.approx(given)
    other = sum(c * stats.entropy(column / c) for c, column in zip(columns, JOINT.T, strict=True))
    assert float(information.conditional_entropy(JOINT, given="columns")) == pytest.approx(other)
    pmi = np.log(JOINT / np.outer(rows, columns))
    assert information.pointwise_mutual_information(JOINT) == pytest.approx(pmi)


def test_an_impossible_row_leaves_a_gradient():
    joint = torch.tensor([[0.5, 0.5], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    information.conditional_entropy(joint).backward()
    assert joint.grad.isfinite().all()


# Densities


def test_a_uniform_density_may_hold_less_than_nothing():
    assert information.differential_entropy(Uniform(0.0, 0.5)).item() == pytest.approx(-math.log(2))
    nats = information.entropy_by_quadrature(lambda x: torch.full_like(x, math.log(2)), 0.0, 0.5)
    assert nats.item() == pytest.approx(-math.log(2), abs=1e-12)


def test_a_pair_may_hold_less_than_either_where_there_are_densities():
    """Unlike of probabilities: h(X) ≤ h(X, Y) fails for two normals that nearly agree."""
    covariance = torch.tensor([[1.0, 0.999], [0.999, 1.0]])
    pair = torch.distributions.MultivariateNormal(torch.zeros(2), covariance)
    assert information.differential_entropy(pair).item() == pytest.approx(-0.2697, abs=1e-3)
    assert information.differential_entropy(Normal(0.0, 1.0)).item() == pytest.approx(1.4189, abs=1e-4)


def test_a_density_without_a_closed_form_is_integrated():
    parts = Normal(torch.tensor([-2.0, 2.0]).double(), torch.tensor([0.5, 1.0]).double())
    mixture = MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7])), parts)
    with pytest.raises(GradlabError, match=r"no closed form for MixtureSameFamily: use entropy_by_quadrature"):
        information.differential_entropy(mixture)
    got = information.entropy_by_quadrature(mixture.log_prob)
    drawn = -mixture.log_prob(mixture.sample((100_000,)))
    assert got.item() == pytest.approx(drawn.mean().item(), abs=4 * drawn.std().item() / 100_000**0.5)


def test_what_has_no_density_is_told():
    with pytest.raises(GradlabError, match="Categorical has no density"):
        information.differential_entropy(Categorical(torch.tensor([0.5, 0.5])))


def test_a_density_whose_mass_is_not_one_is_told():
    with pytest.raises(GradlabError, match="the mass 2 between its bounds"):
        information.entropy_by_quadrature(lambda x: torch.full_like(x, math.log(2)), 0.0, 1.0)
    with pytest.raises(GradlabError, match="the mass 0 between its bounds"):
        information.entropy_by_quadrature(Normal(100.0, 0.01).log_prob)  # between the points
    narrow = information.entropy_by_quadrature(Normal(torch.tensor(100.0).double(), 0.01).log_prob, at=[100.0])
    assert narrow.item() == pytest.approx(Normal(0.0, 0.01).entropy().item(), abs=1e-6)


def test_kinks_and_jumps_are_told_and_cut_at():
    def kinked(x):
        return Laplace(torch.tensor(0.3).double(), 0.5).log_prob(x)

    with pytest.raises(GradlabError, match=r"does not come out.*Say by at="):
        integrate(lambda x: (x > 0.3).double(), 0.0, 1.0)
    got = information.kl_by_quadrature(kinked, Normal(torch.tensor(0.3).double(), 1.0).log_prob, at=[0.3])
    wanted = -1 - math.log(2 * 0.5) + 0.5 * math.log(2 * math.pi) + 0.5 * 2 * 0.5**2
    assert got.item() == pytest.approx(wanted, abs=1e-9)


def test_integrals_go_upwards():
    with pytest.raises(GradlabError, match="from a lower to a higher bound, not from 1 to 0"):
        integrate(torch.exp, 1.0, 0.0)


def test_many_integrals_at_once_with_gradients():
    scale = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    entropy = information.entropy_by_quadrature(lambda x: Normal(0.0, scale[:, None]).log_prob(x))
    torch.testing.assert_close(entropy, Normal(0.0, scale).entropy())
    (slope,) = torch.autograd.grad(entropy.sum(), scale)
    torch.testing.assert_close(slope, 1 / scale.detach())


def test_a_divergence_is_infinite_where_the_other_has_no_mass():
    p, q = Exponential(1.0, validate_args=False), Exponential(1.0, validate_args=False)

    def shifted(x):
        return torch.where(x < 1, -torch.inf, q.log_prob(x - 1))

    assert information.kl_by_quadrature(p.log_prob, shifted, 0.0, at=[1.0]) == math.inf
    back = information.kl_by_quadrature(shifted, p.log_prob, 0.0, at=[1.0])
    assert back.item() == pytest.approx(1, abs=1e-6)


# Estimates


def test_estimates_without_correction_are_those_of_others():
    rng = np.random.default_rng(0)
    x, y = rng.integers(4, size=200), rng.integers(3, size=200)
    got = information.mutual_information_estimate(x, y, correct=False).value
    assert got == pytest.approx(mutual_info_score(x, y))
    words = ["b" if value else "a" for value in rng.integers(2, size=50)]
    shares = np.unique(words, return_counts=True)[1]
    assert information.entropy_estimate(words, correct=False, base=2).value == pytest.approx(
        stats.entropy(shares, base=2)
    )


@pytest.mark.parametrize("interval", ["asymptotic", "bootstrap"])
def test_intervals_hold_what_is_true_about_as_often_as_they_say(interval):
    rng, p, times, size = np.random.default_rng(1), np.array([0.4, 0.3, 0.2, 0.1]), 200, 300
    entropy, tells = stats.entropy(p), float(information.mutual_information(JOINT))
    held = [0, 0]
    for seed in range(times):
        one = information.entropy_estimate(rng.choice(4, size, p=p), interval=interval, resamples=100, seed=seed)
        cell = rng.choice(6, size, p=JOINT.ravel())
        two = information.mutual_information_estimate(cell // 3, cell % 3, interval=interval, resamples=100, seed=seed)
        held[0] += one.low <= entropy <= one.high
        held[1] += two.low <= tells <= two.high
    assert 0.89 * times <= held[0] <= 0.99 * times
    assert 0.89 * times <= held[1] <= 0.99 * times


def test_independent_variables_seem_to_tell_something_unless_that_is_corrected():
    rng = np.random.default_rng(2)
    pairs = [(rng.integers(4, size=60), rng.integers(4, size=60)) for _ in range(200)]
    plain, corrected = (
        np.mean([information.mutual_information_estimate(x, y, correct=c).value for x, y in pairs]) for c in (0, 1)
    )
    assert plain == pytest.approx(9 / 120, rel=0.25)
    assert abs(corrected) < plain / 4


def test_the_same_seed_gives_the_same_interval():
    once, again = (information.entropy_estimate("abracadabra", interval="bootstrap", seed=5) for _ in range(2))
    assert once == again


def test_samples_that_are_none_are_told():
    with pytest.raises(GradlabError, match="Samples are labels in one row"):
        information.entropy_estimate([])
    with pytest.raises(GradlabError, match="x has 2 samples and y has 3"):
        information.mutual_information_estimate([0, 1], [0, 1, 1])
    with pytest.raises(GradlabError, match="level must be between 0 and 1"):
        information.entropy_estimate([0, 1], level=95)
    with pytest.raises(GradlabError, match="asymptotic"):
        information.entropy_estimate([0, 1], interval="asymptotics")


# Codes


def test_a_text_is_coded_near_its_entropy_and_longer_by_the_wrong_code():
    text = "it was the best of times, it was the worst of times, it was the age of wisdom"
    letters, counts = np.unique([*text], return_counts=True)
    p, tokens = counts / counts.sum(), [int(np.where(letters == c)[0][0]) for c in text]
    code, q = information.huffman(p), np.roll(p, 3)
    bits = code.encode(tokens)
    assert code.decode(bits) == tokens
    entropy = float(information.entropy(p, base=2))
    assert entropy <= len(bits) / len(text) < entropy + 1
    extra = information.huffman(q).mean_length(p).item() - code.mean_length(p).item()
    assert extra == pytest.approx(float(information.kl(p, q, base=2)), abs=0.3)


def test_an_impossible_outcome_has_no_word_and_a_certain_one_an_empty_word():
    code = information.huffman([0.5, 0.5, 0.0])
    assert code.lengths == [1, 1, math.inf]
    assert code.mean_length([0.5, 0.25, 0.25]).item() == math.inf
    with pytest.raises(GradlabError, match="Outcome 2 at place 1 has no word"):
        code.encode([0, 2])
    certain = information.huffman([0.0, 1.0])
    assert certain.encode([1, 1, 1]) == ""
    assert certain.decode("", length=3) == [1, 1, 1]
    with pytest.raises(GradlabError, match="say how many"):
        certain.decode("")


@pytest.mark.parametrize("bits", ["011", "2", "01x"])
def test_bits_of_another_code_are_told(bits):
    with pytest.raises(GradlabError, match="end within a word"):
        information.huffman([0.5, 0.25, 0.125, 0.125]).decode(bits)


def test_a_code_is_for_one_distribution():
    with pytest.raises(GradlabError, match="one distribution has one axis"):
        information.huffman([[0.5, 0.5]])
    with pytest.raises(GradlabError, match=r"sum to 0.9"):
        information.huffman([0.5, 0.4])
