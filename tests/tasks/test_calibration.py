import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.tasks import Bernoulli, Classify, Reliability, calibrate, fit_temperature
from gradlab.tasks.calibration import held_out_losses


def overconfident(seed, count=300, classes=4, factor=3.0):
    """Classes drawn from the softmax of some logits, and those logits times a factor."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(count, classes, generator=generator)
    return factor * logits, torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]


def nll(logits, target, temperature, unknown=1 / 3):
    """With an example of unknown class beside the others."""
    log_p = (logits.double() / temperature).log_softmax(1)
    return (F.nll_loss(log_p, target) - unknown / len(target) * log_p.mean()).item()


@given(st.integers(0, 10**6), st.integers(50, 300), st.integers(2, 6), st.floats(0.3, 5))
def test_the_temperature_is_the_one_that_scipy_finds(seed, count, classes, factor):
    logits, target = overconfident(seed, count, classes, factor)
    best = minimize_scalar(
        lambda log: nll(logits, target, math.exp(log)),
        bounds=(-math.log(20), math.log(20)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert fit_temperature(logits, target) == pytest.approx(math.exp(best.x), rel=1e-4)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 6), st.floats(1e-3, 1e3))
def test_it_is_never_worse_than_no_temperature_where_it_was_fitted(seed, count, classes, scale):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(count, classes, generator=generator)
    target = torch.randint(classes, (count,), generator=generator)
    temperature = fit_temperature(logits, target)
    assert temperature * (1 + 1e-9) >= 1 / 20
    assert temperature <= 20 * (1 + 1e-9)
    assert nll(logits, target, temperature) <= nll(logits, target, 1.0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_factor_that_spoiled_the_logits_is_found_again(factor):
    logits, target = overconfident(0, 20_000, factor=factor)
    assert fit_temperature(logits, target) == pytest.approx(factor, rel=0.05)


def test_logits_that_are_calibrated_already_are_left_alone():
    assert fit_temperature(torch.zeros(5, 3), torch.tensor([0, 1, 2, 0, 1])) == 1.0


def test_a_split_without_a_best_temperature_ends_at_the_bounds():
    assert fit_temperature(torch.eye(3), torch.tensor([1, 2, 0])) == pytest.approx(20)


@pytest.mark.parametrize("margin", [2.0, 5.0, 15.0])
@pytest.mark.parametrize("count", [10, 30, 300])
def test_a_split_that_is_all_right_makes_nothing_certain(margin, count):
    """One mistake among so many would cost the mean loss no more than twice what it costs as trained."""
    logits, target = margin * F.one_hot(torch.arange(count) % 2).double(), torch.arange(count) % 2
    temperature = fit_temperature(logits, target)
    target[0] = 1 - target[0]
    plain, calm = (F.cross_entropy(logits / t, target) for t in (1.0, temperature))
    assert calm < 2 * plain


def test_a_temperature_that_held_out_parts_do_not_want_is_refused():
    """The logits are right as they are, so that whatever is fitted on some of them is noise on the others."""
    task, validation, test = (
        Classify(Targets(classes=list("abcd"))),
        *(examples(*overconfident(seed, 40, factor=1.0)) for seed in (5, 6)),
    )
    before, after = held_out_losses(validation.inputs, validation.targets)
    assert after > before
    calibration = calibrate(nn.Identity(), task, validation, test)
    assert calibration["temperature"] == 1.0 != fit_temperature(validation.inputs, validation.targets)
    assert f"does not lower the loss ({before:.4g} without, {after:.4g} with it)" in calibration["refused"]
    assert calibration["test_ece"] == calibration["test_ece_calibrated"]


def test_a_few_examples_are_not_enough():
    calibration = calibrate(
        nn.Identity(), Classify(Targets(classes=list("abcd"))), examples(*overconfident(1, 9)), None
    )
    assert calibration["temperature"] == 1.0
    assert "fewer than 10 examples" in calibration["refused"]


def test_each_example_is_held_out_once():
    logits, target = overconfident(3, 53)
    losses = torch.zeros(53, dtype=torch.double)
    for fold in range(5):
        train, rest = np.arange(53) % 5 != fold, np.arange(53) % 5 == fold
        calm = logits[rest].double() / fit_temperature(logits[train], target[train])
        losses[rest] = F.cross_entropy(calm, target[rest], reduction="none")
    before, after = held_out_losses(logits, target)
    assert before == pytest.approx(F.cross_entropy(logits, target).item())
    assert after == pytest.approx(losses.mean().item())


def test_predictions_stay_and_only_their_probabilities_move():
    logits, target = overconfident(1)
    calm = logits / fit_temperature(logits, target)
    assert torch.equal(calm.argmax(1), logits.argmax(1))
    assert Reliability.of_logits(calm, target).ece < Reliability.of_logits(logits, target).ece


def examples(logits, target):
    return Examples.of(logits, target, np.arange(len(target)))


def test_what_a_temperature_does_is_told_of_a_split_that_it_has_not_seen():
    task = Classify(Targets(classes=list("abcd")))
    validation, test = examples(*overconfident(1)), examples(*overconfident(2))
    found = calibrate(nn.Identity(), task, validation, test)
    temperature = fit_temperature(validation.inputs, validation.targets)
    before, after = held_out_losses(validation.inputs, validation.targets)
    assert after < before
    assert found == {
        "held_out_loss": before,
        "held_out_loss_calibrated": after,
        "temperature": temperature,
        "split": "validation",
        "test_ece": task.metrics["ece"].value(task.metrics["ece"].sums(test.inputs, test.targets)),
        "test_ece_calibrated": Reliability.of_logits(test.inputs.double() / temperature, test.targets).ece,
    }
    assert found["test_ece_calibrated"] < found["test_ece"]


def test_without_a_test_split_there_is_a_temperature_all_the_same():
    validation = examples(*overconfident(1))
    found = calibrate(
        nn.Identity(), Classify(Targets(classes=list("abcd"))), validation, examples(*overconfident(1, 0))
    )
    assert set(found) == {"temperature", "split", "held_out_loss", "held_out_loss_calibrated"}


def test_one_logit_has_the_temperature_of_its_two():
    logits, target = overconfident(3, classes=2)
    margin = logits[:, 1:] - logits[:, :1]
    found = calibrate(nn.Identity(), Bernoulli(Targets(classes=["a", "b"])), *[examples(margin, target)] * 2)
    assert found["temperature"] == pytest.approx(fit_temperature(logits, target), rel=1e-5)
