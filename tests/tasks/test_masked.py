"""Masked language modelling: the loss at chosen places alone, its metrics and its baseline."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.data import Targets
from gradlab.data.text.masking import UNASKED, Masked
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import GradlabError
from gradlab.tasks import MaskedLanguage
from gradlab.tasks.evaluation import evaluate

VOCABULARY = 7


@pytest.fixture
def task():
    return MaskedLanguage(Targets(tokens=VOCABULARY, masked=2))


def batch():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, VOCABULARY, generator=generator, requires_grad=True)
    target = torch.full((3, 5), UNASKED)
    for row, places in enumerate([[0, 4], [1, 2], [3, 4]]):
        target[row, places] = torch.tensor([row + 1, 6 - row])
    return logits, target


def the_equation(logits, target):
    asked = (target != UNASKED).nonzero().tolist()
    return [-math.log(logits[i, t].softmax(0)[target[i, t]].item()) for i, t in asked]


def test_loss_and_gradient_are_those_of_the_chosen_places(task):
    logits, target = batch()
    total, count = task.loss(logits, target)
    expected = the_equation(logits, target)
    assert count == len(expected) == 6
    assert_close(total.item(), sum(expected), rtol=1e-5, atol=0)
    (gradient,) = torch.autograd.grad(total, logits)
    assert (gradient[target == UNASKED] == 0).all()
    assert (gradient[target != UNASKED] != 0).all()


def test_perplexity_and_accuracy_count_each_chosen_token_once(task):
    logits, target = batch()
    logits = logits.detach()
    logits[0, 0, target[0, 0]] += 100
    named = {name: metric.value(metric.sums(logits, target)) for name, metric in task.metrics.items()}
    expected = the_equation(logits, target)
    assert_close(named["masked_perplexity"], math.exp(sum(expected) / 6), rtol=1e-5, atol=0)
    best = [logits[i, t].argmax() == target[i, t] for i, t in (target != UNASKED).nonzero().tolist()]
    assert 0 < sum(best) < 6
    assert_close(named["accuracy"], sum(best).item() / 6)


def test_an_impossible_token_has_an_infinite_perplexity(task):
    logits, target = batch()
    logits = logits.detach()
    logits[0, 0, target[0, 0]] = -math.inf
    metric = task.metrics["masked_perplexity"]
    assert metric.value(metric.sums(logits, target)) == math.inf


def test_the_baseline_is_how_often_each_token_is_in_training(task, rng):
    tokens = torch.from_numpy(rng.choice(VOCABULARY, p=[0, 0, 0.5, 0.2, 0.1, 0.1, 0.1], size=4001))
    masked = Masked(windows=Windows(tokens, 10), chosen=2, mask=1, first=2, vocabulary=VOCABULARY)
    examples = WindowExamples.over(masked)
    found = task.baselines(examples, nn.Identity())
    figures = {name: evaluate(model, task, examples) for name, model in found.items()}
    entropy = -sum(p * math.log(p) for p in (0.5, 0.2, 0.1, 0.1, 0.1))
    uniform, counted = figures.values()
    assert_close(uniform["loss"], math.log(VOCABULARY), rtol=1e-5, atol=0)
    assert abs(counted["loss"] - entropy) < 0.05
    assert abs(counted["accuracy"] - 0.5) < 0.05


def test_targets_without_hidden_tokens_are_refused():
    with pytest.raises(GradlabError, match="needs text"):
        MaskedLanguage(Targets(tokens=VOCABULARY))
