"""What a watch makes of agents: targets that are taken apart, ends told from cuts, and actions that were done."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical
from trainings import adam, watching

from gradlab.diagnosis.watching.operators import ARITHMETIC, READING
from gradlab.diagnosis.watching.transitions import Table


def slugs(doctor):
    return [f.slug for f in doctor.verdict.findings if f.severity != "note"]


def critic(outputs=1):
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, outputs))


# -- targets -----------------------------------------------------------------------------------------------------------


def values(target_of, steps=30):
    """Values of 32 states each, from those of the next ones."""
    online, slow = critic(), critic()
    optimizer = adam(online.parameters())
    for _ in range(steps):
        s, s2, r = torch.randn(32, 2), torch.randn(32, 2), torch.randn(32, 1)
        end = (torch.arange(32) % 4 == 0).float().unsqueeze(1)
        with torch.no_grad():
            y = target_of(r, end, slow(s2), slow(s))
        optimizer.zero_grad()
        F.mse_loss(online(s), y).backward()
        optimizer.step()


@pytest.mark.parametrize(
    "target_of",
    [
        lambda r, end, v, _: r + 0.9 * (1 - end) * v,
        lambda r, end, v, _: torch.where(end.bool(), r, r + 0.9 * v),
        lambda r, end, v, _: 0.9 * v * (end == 0) + r,
    ],
)
def test_rewards_discount_and_ends_are_read_off_the_numbers(target_of):
    with watching() as doctor:
        values(target_of)
    (one,) = doctor.record.bootstraps
    assert (one.online, one.target) == ("online", "slow")
    assert one.discount == pytest.approx(0.9, abs=1e-5)
    assert one.masked == one.rows / 4


def test_a_teacher_is_not_a_target_network():
    with watching() as doctor:
        values(lambda r, end, v, same: r + 0.9 * same)
    assert doctor.record.bootstraps == []


def test_torch_is_as_it_was_after_sums_and_draws_were_looked_at():
    before = {name: getattr(torch.Tensor, name) for name in (*ARITHMETIC, *READING, "argmax", "multinomial")}
    with watching():
        values(lambda r, end, v, _: r + 0.9 * v)
        torch.multinomial(torch.ones(2), 1).item()
    assert {name: getattr(torch.Tensor, name) for name in before} == before


# -- ends and cuts ----------------------------------------------------------------------------------------------------


def walks(limit, edge=1.0, count=40):
    """Random walks with an end beyond an edge, each step with whether it fell and whether it was the last one."""
    torch.manual_seed(0)
    for _ in range(count):
        s = 0.2 * torch.randn(1)
        for t in range(limit):
            after = s + 0.3 * torch.randn(1)
            fell = bool(after.abs() > edge)
            yield s, after, fell, fell or t == limit - 1
            if fell:
                break
            s = after


@pytest.mark.parametrize("masks_limit", [True, False])
def test_a_limit_is_told_from_an_end(masks_limit):
    s, after, fell, last = (list(part) for part in zip(*walks(limit=15), strict=True))
    table = Table()
    added = 1 - torch.tensor(last if masks_limit else fell).float()
    table.add(torch.stack(s), torch.stack(after), added, torch.zeros(len(s)))
    seen = table.observed()
    assert not seen.table
    assert seen.end_rows >= 8
    assert seen.end_added == 0
    assert (seen.after == 15) is masks_limit
    assert (seen.cut > 0) is masks_limit


def test_episodes_of_any_length_are_not_cut_by_a_limit():
    s, after, _, _ = (list(part) for part in zip(*walks(limit=40, edge=9.0), strict=True))
    table = Table()
    torch.manual_seed(1)
    added = (torch.rand(len(s)) > 0.05).float()
    table.add(torch.stack(s), torch.stack(after), added, torch.zeros(len(s)))
    assert table.observed().cut == 0


# -- actions -----------------------------------------------------------------------------------------------------------


def bandit(epochs=1, old=lambda new, kept: kept, score=lambda pi, action: action, steps=40):
    """States with a best action each, which are met, acted in and learnt from."""
    policy = critic(3)
    optimizer = adam(policy.parameters())
    for _ in range(steps):
        s = torch.randn(64, 2)
        with torch.no_grad():
            pi = Categorical(logits=policy(s))
            action = pi.sample()
            kept = pi.log_prob(action)
        reward = torch.tensor([float(a == (x > 0)) for a, x in zip(action.tolist(), s[:, 0], strict=True)])
        for _ in range(epochs):
            pi = Categorical(logits=policy(s))
            new = pi.log_prob(score(pi, action))
            ratio = (new - old(new, kept)).exp()
            gain = reward - 0.5
            optimizer.zero_grad()
            (-torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()).backward()
            optimizer.step()


def test_one_epoch_has_ratios_of_1_and_that_is_right():
    with watching() as doctor:
        bandit()
    assert slugs(doctor) == []
    assert doctor.record.policies[0].clamped


@pytest.mark.parametrize("wrong", [True, False])
def test_ratios_to_the_present_policy_are_found_where_several_epochs_are_made(wrong):
    with watching() as doctor:
        bandit(epochs=4, old=(lambda new, kept: new.detach()) if wrong else (lambda new, kept: kept), steps=15)
    assert slugs(doctor) == ["ratio_always_one"] * wrong


@pytest.mark.parametrize(
    ("score", "wrong"),
    [
        (lambda pi, action: action, False),
        (lambda pi, action: pi.sample(), True),
        (lambda pi, action: pi.probs.argmax(-1), True),
        (lambda pi, action: action.roll(1), True),
    ],
)
def test_what_is_scored_is_compared_with_what_was_done(score, wrong):
    with watching() as doctor:
        bandit(score=score)
    assert ("scores_other_actions" in slugs(doctor)) is wrong
    assert doctor.record.policies[0].scored > 500
