"""Environments of gymnasium: by name, in processes, with limits of time told apart, and faults told by their name."""

import gymnasium
import numpy as np
import pytest

from gradlab.environments import gym, make
from gradlab.errors import GradlabError, TrainingError
from gradlab.specs import Box, Discrete, Table


class Faulty(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fault="", render_mode=None):
        self.fault, self.steps = fault, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.fault == "raises" and self.steps == 3:
            raise KeyError("a wheel came off")
        seen = np.full(2, np.nan if self.fault == "nan" and self.steps == 3 else 0.1 * self.steps, np.float32)
        return seen, np.inf if self.fault == "reward" and self.steps == 3 else 1.0, self.steps == 6, False, {}


@pytest.fixture(autouse=True)
def _registered():
    names = {"Faultless-v0": "", "Raises-v0": "raises", "Nan-v0": "nan", "Reward-v0": "reward"}
    for name, fault in names.items():
        gymnasium.register(name, lambda fault=fault, render_mode=None: Faulty(fault), max_episode_steps=4)
    yield
    for name in names:
        del gymnasium.registry[name]


def test_a_limit_of_time_is_no_end_and_the_last_observation_is_kept():
    copies = make("Faultless-v0", 2)
    copies.reset(0)
    for _ in range(3):
        step = copies.step(np.array([0, 1]))
        assert not step.over.any()
        assert np.array_equal(step.observations, step.final_observations)
    step = copies.step(np.array([0, 1]))
    assert step.truncated.all()
    assert not step.ended.any()
    assert np.allclose(step.final_observations, 0.4)
    assert np.allclose(step.observations, 0)


@pytest.mark.parametrize(
    ("name", "words"), [("Raises-v0", "a wheel came off"), ("Nan-v0", "observation"), ("Reward-v0", "reward")]
)
def test_a_faulty_environment_is_named(name, words):
    copies = make(name, 2)
    copies.reset(0)
    for _ in range(2):
        copies.step(np.array([0, 1]))
    with pytest.raises(TrainingError, match=words) as told:
        copies.step(np.array([0, 1]))
    assert name in str(told.value)


def test_processes_step_as_this_one_does():
    here, there = make("MountainCar-v0", 3), make("MountainCar-v0", 3, workers=True)
    try:
        assert np.array_equal(here.reset(2), there.reset(2))
        assert not there.exact
        for i in range(205):
            actions = np.array([0, i % 3, 2])
            one, other = here.step(actions), there.step(actions)
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)), i
    finally:
        there.close()


def test_what_is_observed_and_done_is_told():
    assert make("MountainCarContinuous-v0", 1).actions == Box((-1.0,), (1.0,))
    assert make("FrozenLake-v1", 1).observations == Discrete(16)
    assert make("MountainCar-v0", 1).observations == Table(2)
    with pytest.raises(GradlabError, match="Blackjack-v1 is Tuple"):
        make("Blackjack-v1", 1)


def test_an_unknown_name_is_answered_with_the_closest_or_the_extra(monkeypatch):
    with pytest.raises(GradlabError, match="CartPole-v1"):
        make("CartPol-v1", 1)
    monkeypatch.setattr(gym, "installed", lambda: False)
    with pytest.raises(GradlabError, match=r"gradlab\[rl\]"):
        make("CartPole-v1", 1)
