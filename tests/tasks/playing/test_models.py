"""Policies beside torch.distributions, and what they keep beside their weights."""

import pytest
import torch
from torch.distributions import Categorical, Independent, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

from gradlab.models.policies import ActorCritic, QNetwork, SoftActorCritic
from gradlab.models.policies.policy import Observations
from gradlab.registry import Part
from gradlab.specs import Box, Discrete, Environment, Table

CHOICE, NUMBERS = Environment(Table(3), Discrete(4)), Environment(Table(3), Box((-2.0, 0.0), (2.0, 1.0)))


def test_log_probabilities_and_entropies_are_those_of_torch():
    outputs, distribution = torch.randn(50, 4), ActorCritic(CHOICE, [8], Part("tanh"), False).distribution
    actions = distribution.draw(outputs, distribution.noise(50))
    law = Categorical(logits=outputs)
    torch.testing.assert_close(distribution.log_prob(outputs, actions), law.log_prob(actions))
    torch.testing.assert_close(distribution.entropy(outputs), law.entropy())
    distribution = ActorCritic(NUMBERS, [8], Part("tanh"), False).distribution
    torch.nn.init.normal_(distribution.log_std)
    means, actions = torch.randn(50, 2), torch.randn(50, 2)
    law = Independent(Normal(means, distribution.log_std.exp()), 1)
    torch.testing.assert_close(distribution.log_prob(means, actions), law.log_prob(actions))
    torch.testing.assert_close(distribution.entropy(means), law.entropy())


def test_choices_are_drawn_by_the_softmax():
    torch.manual_seed(0)
    distribution, outputs = (
        ActorCritic(CHOICE, [8], Part("tanh"), False).distribution,
        torch.tensor([0.0, 1.0, -1.0, 2.0]),
    )
    drawn = distribution.draw(outputs, distribution.noise(20_000))
    torch.testing.assert_close(drawn.bincount(minlength=4) / 20_000, outputs.softmax(0), atol=0.015, rtol=0)


def test_squashed_actions_have_the_density_of_torch():
    torch.manual_seed(0)
    model, x = SoftActorCritic(NUMBERS, [8], Part("relu"), False, 1.0, 0.1), torch.randn(30, 3)
    with torch.no_grad():
        actions, ours = model(x)
        mean, log_std = model.actor(x).chunk(2, -1)
    law = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform())
    torch.testing.assert_close(ours, law.log_prob(actions).sum(-1), atol=1e-3, rtol=1e-3)
    units = model.in_units(actions)
    assert (units >= torch.tensor([-2.0, 0.0])).all()
    assert (units <= torch.tensor([2.0, 1.0])).all()


def test_observations_are_in_units_of_all_that_was_seen():
    seen, rows = Observations(Table(3), normalise=True), torch.randn(300, 3, dtype=torch.float32) * 5 + 2
    for part in rows.split([1, 99, 200]):
        seen.update(part)
    torch.testing.assert_close(seen.mean, rows.mean(0), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(seen.variance, rows.var(0, correction=0), atol=1e-2, rtol=1e-3)
    assert seen(rows).std(0).sub(1).abs().max() < 0.01
    assert {"mean", "variance", "count"} <= seen.state_dict().keys()


def test_targets_are_copied_now_and_then_or_follow_slowly():
    model = QNetwork(CHOICE, [8], Part("relu"), dueling=True, normalise=False, copy_every=2)
    with torch.no_grad():
        model.online.value[-1].bias += 1
    x = torch.randn(5, 3)
    model.advance(None)
    assert not torch.equal(model(x), model.later(x))
    model.advance(None)
    assert torch.equal(model(x), model.later(x))
    soft = SoftActorCritic(NUMBERS, [8], Part("relu"), False, 1.0, follow=0.25)
    before = soft.targets[0][-1].bias.clone()
    with torch.no_grad():
        soft.critics[0][-1].bias += 4
    soft.advance(None)
    assert soft.targets[0][-1].bias.item() == pytest.approx(before.item() + 1)
    assert not any(p.requires_grad for p in [*soft.targets.parameters(), *model.target.parameters()])


def test_dueling_advantages_have_no_mean():
    model = QNetwork(CHOICE, [8], Part("relu"), dueling=True, normalise=False, copy_every=2)
    x = torch.randn(5, 3)
    torch.testing.assert_close(model(x).mean(-1), model.online.value(x)[:, 0])
