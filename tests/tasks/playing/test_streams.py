"""What rollouts and the memory hold, in an environment whose steps can be counted."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from gradlab.data import Acting
from gradlab.environments import Environments, Step
from gradlab.errors import GradlabError
from gradlab.models.policies import ActorCritic, QNetwork
from gradlab.registry import Part
from gradlab.specs import Discrete, Environment, Table
from gradlab.tasks import A2C, DQN, PPO, Reinforce
from gradlab.tasks.playing.replay import Replay

SPEC = Environment(Table(1), Discrete(2))


class Counting(Environments):
    """Its observation is the step; copy 0 ends after `length`, copy 1 is cut off there."""

    observations, actions, exact = Table(1), Discrete(2), False

    def __init__(self, num, length=3):
        self.num, self.length, self.at = num, length, np.zeros(num)

    def reset(self, seed):
        self.at[:] = 0
        return self.at[:, None].astype(np.float32)

    def step(self, actions):
        self.at += 1
        over, final = self.at == self.length, self.at[:, None].astype(np.float32)
        kind = np.arange(self.num) % 2 == 0
        self.at[over] = 0
        return Step(self.at[:, None].astype(np.float32), np.ones(self.num), over & kind, over & ~kind, final)


@dataclass(frozen=True)
class Counted(Acting):
    def open(self):
        return Counting(self.copies)


def acting(copies=2, steps=100):
    return Counted(Part("counting"), SPEC, steps, copies)


def critic_of(value):
    """An actor-critic whose values are all the same."""
    model = ActorCritic(SPEC, [4], Part("tanh"), normalise=False)
    for parameter in model.critic.parameters():
        torch.nn.init.zeros_(parameter)
    torch.nn.init.constant_(model.critic[-1].bias, value)
    return model


def first_batch(task, model, **sizes):
    stream = task.stream(acting(**sizes)).planned("full", 0)
    stream.start(model)
    return stream, next(stream.batches(0))


def test_what_was_cut_off_is_gone_on_with_and_what_ended_is_not():
    _, batch = first_batch(A2C(None, discount=0.5, decay=1.0, length=3), critic_of(8.0))
    returns = batch["returns"].view(3, 2)
    assert returns[:, 0].tolist() == [1.75, 1.5, 1.0]
    assert returns[:, 1].tolist() == [2.75, 3.5, 5.0]  # 1 + 8 / 2 at the limit


def test_a_round_that_ends_within_an_episode_goes_on_with_the_value_of_the_next_state():
    _, batch = first_batch(A2C(None, discount=0.5, decay=1.0, length=2), critic_of(8.0))
    assert batch["returns"].view(2, 2)[:, 0].tolist() == [3.5, 5.0]


def test_reinforce_leaves_out_steps_whose_return_is_not_known():
    task = Reinforce(None, discount=1.0, length=5)
    _, batch = first_batch(task, critic_of(0.0))
    assert batch["weights"].view(5, 2)[:, 0].tolist() == [1, 1, 1, 0, 0]
    assert batch["returns"].view(5, 2)[:3, 0].tolist() == [3, 2, 1]
    with pytest.raises(GradlabError, match=r"task\.length=2"):
        first_batch(Reinforce(None, length=2), critic_of(0.0))


def test_each_pass_of_ppo_has_every_step_once():
    task = PPO(None, length=6, passes=2)
    stream = task.stream(acting(steps=12)).planned(4, 0)
    assert stream.steps_per_epoch == 6
    stream.start(critic_of(0.0))
    batches = stream.batches(0)
    for _ in range(2):
        seen = torch.cat([next(batches)["log_probs"] for _ in range(3)])
        assert torch.equal(seen.sort().values, stream.batch["log_probs"].sort().values)
    with pytest.raises(GradlabError, match="does not divide"):
        task.stream(acting()).planned(5, 0)


def test_how_far_a_policy_has_moved_is_the_divergence_from_the_one_that_acted():
    model = critic_of(0.0)
    stream, batch = first_batch(PPO(None, length=2000), model, steps=4000)
    assert stream.figures()["kl"] == pytest.approx(0, abs=1e-6)
    with torch.no_grad():
        old = model.actor(batch["observations"]).log_softmax(-1)
        model.actor[-1].bias += torch.tensor([0.0, 0.7])
        new = model.actor(batch["observations"]).log_softmax(-1)
    exact = (old.exp() * (old - new)).sum(-1).mean().item()
    assert stream.figures()["kl"] == pytest.approx(exact, rel=0.05)


def test_a_step_is_remembered_with_the_next_rewards_and_the_discount_of_what_follows():
    memory = Replay(acting(), DQN(None).act, discount=0.5, steps=2, size=50, before=0, every=2, updates=1)
    memory.planned(4, 0).start(QNetwork(SPEC, [4], Part("relu"), False, False, 5))
    batches = memory.batches(0)
    for _ in range(4):
        next(batches)
    found = {name: column[: len(memory.memory)] for name, column in memory.memory.columns.items()}
    rows = zip(*(found[name].flatten().tolist() for name in ("observations", "rewards", "discounts")), strict=True)
    ended, cut = {(0, 1.5, 0.25), (1, 1.5, 0.0), (2, 1.0, 0.0)}, {(0, 1.5, 0.25), (1, 1.5, 0.25), (2, 1.0, 0.5)}
    assert set(rows) == ended | cut
    assert found["next_observations"].max() == 3  # the last one, not the first of the next episode


def test_steps_are_drawn_by_their_error_and_weighted_back():
    torch.manual_seed(0)
    task = DQN(None, priority=1.0, correction=1.0, before=0, every=2)
    stream = task.stream(acting(steps=1000)).planned(4000, 0)
    stream.start(QNetwork(SPEC, [4], Part("relu"), False, False, 5))
    batches = stream.batches(0)
    for _ in range(20):
        next(batches)
    rows = torch.arange(len(stream.memory))
    stream.set_priorities(rows, torch.where(rows == 3, 9.0, 1.0))
    batch = stream._draw(0)
    share = (batch["rows"] == 3).float().mean().item()
    assert share == pytest.approx(9 / (9 + len(rows) - 1), abs=0.03)
    rare, frequent = batch["weights"][batch["rows"] != 3], batch["weights"][batch["rows"] == 3]
    assert rare.unique().item() == pytest.approx(1)
    assert frequent.unique().item() == pytest.approx(1 / 9, rel=1e-4)
