"""Environments of gymnasium: by name, in processes, with limits of time told apart, and faults told by their name."""

import sys

import gymnasium
import numpy as np
import pytest
import torch

from gradlab.data import Acting
from gradlab.data.environment import environment
from gradlab.environments import gym, make, registry
from gradlab.errors import GradlabError, TrainingError
from gradlab.recipes import find
from gradlab.registry import Part
from gradlab.specs import Box, Discrete, Environment, Table
from gradlab.tasks.playing.play import Ongoing
from gradlab.training.experiment import resolve


class Faulty(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fault="", render_mode=None):
        self.fault, self.steps = fault, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        first = np.zeros(3 if self.fault == "shape" else 2, np.float32)
        return np.full_like(first, np.nan) if self.fault == "first" else first, {}

    def step(self, action):
        self.steps += 1
        if self.fault == "raises" and self.steps == 3:
            raise KeyError("a wheel came off")
        seen = np.full(2, np.nan if self.fault == "nan" and self.steps == 3 else 0.1 * self.steps, np.float32)
        reward = {"reward": np.inf, "rewards": np.ones(3)}.get(self.fault, 1.0) if self.steps == 3 else 1.0
        return seen, reward, self.steps == 6, False, {}


@pytest.fixture(autouse=True)
def _registered():
    names = {"Faultless-v0": "", "Raises-v0": "raises", "Nan-v0": "nan", "Reward-v0": "reward", "Rewards-v0": "rewards"}
    names |= {"First-v0": "first", "Shape-v0": "shape"}
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
    ("name", "words"),
    [
        ("Raises-v0", "a wheel came off"),
        ("Nan-v0", "observation"),
        ("Reward-v0", "reward"),
        ("Rewards-v0", r"rewards of the shape \(3,\)"),
    ],
)
def test_a_faulty_environment_is_named(name, words):
    ongoing = Ongoing(Acting(Part(name), Environment(Table(2), Discrete(2)), steps=10, copies=2))
    ongoing.begin(0)
    for _ in range(2):
        ongoing.step(torch.tensor([0, 1]))
    with pytest.raises(TrainingError, match=words) as told:
        ongoing.step(torch.tensor([0, 1]))
    assert name in str(told.value)


@pytest.mark.parametrize(("name", "words"), [("First-v0", "NaN"), ("Shape-v0", r"shape \(3,\).*says \(2,\)")])
def test_a_first_observation_is_looked_at_too(name, words):
    ongoing = Ongoing(Acting(Part(name), Environment(Table(2), Discrete(2)), steps=10, copies=2))
    with pytest.raises(TrainingError, match=f"{name} gave .*{words}"):
        ongoing.begin(0)


def test_what_keeps_more_than_is_known_is_not_said_to_be_put_back():
    made = gymnasium.make("CartPole-v1")
    stacked = gymnasium.wrappers.FrameStackObservation(gymnasium.make("CartPole-v1"), 2)
    flat = gymnasium.wrappers.FlattenObservation(gymnasium.make("Blackjack-v1"))
    assert [gym.InProcess("it", [one]).exact for one in (made, stacked, flat)] == [True, False, False]


def test_a_builder_of_another_number_of_copies_is_refused(monkeypatch):
    monkeypatch.setitem(registry._things, "more", lambda num: [gymnasium.make("MountainCar-v0")] * (num + 1))
    with pytest.raises(GradlabError, match="'more' must give 2 copies, but it gave 3"):
        make("more", 2)


def test_copies_of_ones_own_can_be_stepped_in_processes(monkeypatch):
    monkeypatch.setitem(
        registry._things, "own-cars", lambda num: [gymnasium.make("MountainCar-v0") for _ in range(num)]
    )
    there = make("own-cars", 2, workers=True)
    try:
        assert isinstance(there, gym.InWorkers)
        assert np.array_equal(make("own-cars", 2).reset(4), there.reset(4))
    finally:
        there.close()
    assert make("grid", 2, workers=True).exact  # ours need none


def test_a_run_that_cannot_be_put_back_says_so():
    assert environment(0, env=Part("CartPole-v1")).notes == []
    (note,) = environment(0, env=Part("CartPole-v1"), workers=True).notes
    assert note == "CartPole-v1 in processes of its own cannot be put back: a resumed run begins new episodes."
    (note,) = environment(0, env=Part("Faultless-v0")).notes
    assert note == "Faultless-v0 cannot be put back: a resumed run begins new episodes."


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


def test_what_it_takes_to_draw_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    cars = make("MountainCar-v0", 1, render=True)
    cars.reset(0)
    with pytest.raises(GradlabError, match="To draw MountainCar-v0: pygame is not installed"):
        cars.render()


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


@pytest.mark.parametrize("name", ["bandit-reinforce", "grid-sarsa", "grid-value-iteration"])
def test_environments_of_ours_need_no_extra(monkeypatch, name):
    monkeypatch.setattr(gym, "installed", lambda: False)
    assert resolve(find(name)).data_name in ("bandit", "grid")
    assert resolve(find("ppo").override({"data.env": "grid"})).data_name == "grid"
