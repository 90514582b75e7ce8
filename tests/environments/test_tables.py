"""Environments that are tables: they follow their probabilities, end where they should, and go on where they were."""

import json

import numpy as np
import pytest
import torch

from gradlab.environments import make
from gradlab.environments.grid import Grid, GridEnvironments
from gradlab.environments.tabular import TableEnvironments
from gradlab.errors import GradlabError
from gradlab.maths.decisions import DecisionProcess, policy_iteration, value_iteration
from gradlab.registry import Part

NAMES = ["bandit", "grid", "table"]


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_copy_goes_on_as_the_first_did(name):
    first, second = make(name, 4), make(name, 4)
    rng = np.random.default_rng(0)
    first.reset(3)
    actions = rng.integers(first.actions.count, size=(60, 4))
    for action in actions[:30]:
        first.step(action)
    kept = first.snapshot()
    wanted = [first.step(action) for action in actions[30:]]
    second.restore(json.loads(json.dumps(kept, default=lambda t: t.tolist()), object_hook=_tensors))
    for action, step in zip(actions[30:], wanted, strict=True):
        got = second.step(action)
        assert all(np.array_equal(a, b) for a, b in zip(got, step, strict=True))


def _tensors(kept):
    return {name: torch.tensor(value) if isinstance(value, list) else value for name, value in kept.items()}


def test_copies_are_those_of_their_seeds():
    """Copy i has the generator of seed + i, however many there are."""
    many, one = make("grid", 3), make("grid", 1)
    many.reset(10)
    one.reset(12)
    for _ in range(50):
        together, alone = many.step(np.array([1, 1, 1])), one.step(np.array([1]))
        assert together.final_observations[2] == alone.final_observations[0]
        assert together.rewards[2] == alone.rewards[0]


def test_states_and_rewards_follow_the_tables():
    process = DecisionProcess(
        [[[0.2, 0.8], [0.9, 0.1]], [[0.5, 0.5], [0.3, 0.7]]], [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    )
    copies, count = TableEnvironments(process, 50, limit=10**9), np.zeros((2, 2, 2))
    state, rng = copies.reset(0), np.random.default_rng(1)
    for _ in range(400):
        action = rng.integers(2, size=50)
        step = copies.step(action)
        assert np.array_equal(step.rewards, process.rewards.numpy()[state, action, step.final_observations])
        np.add.at(count, (state, action, step.final_observations), 1)
        state = step.observations
    visits = count.sum(-1, keepdims=True)
    p = process.transition.numpy()
    assert np.abs((count / visits - p) / np.sqrt(p * (1 - p) / visits)).max() < 4.5


def test_a_limit_of_time_truncates_and_a_goal_ends():
    copies = GridEnvironments(Grid("S.G"), 1, slip=0.0, limit=3)
    copies.reset(0)
    stay, right = np.array([0]), np.array([1])
    steps = [copies.step(action) for action in (stay, stay, stay, right, right)]
    assert [bool(step.truncated[0]) for step in steps] == [False, False, True, False, False]
    assert [bool(step.ended[0]) for step in steps] == [False, False, False, False, True]
    assert [step.rewards[0] for step in steps] == [-1, -1, -1, -1, 10]
    assert steps[-1].final_observations[0] == 2
    assert steps[-1].observations[0] == 0


def test_a_bandits_rewards_have_the_mean_of_their_arm_and_the_noise():
    copies = make(Part("bandit", {"arms": 3, "noise": 2.0}), 3)
    copies.reset(0)
    rewards = np.stack([copies.step(np.array([0, 1, 2])).rewards for _ in range(4000)])
    assert np.abs((rewards.mean(0) - [0.0, 0.5, 1.0]) / (2 / 4000**0.5)).max() < 4
    assert np.allclose(rewards.std(0), 2.0, rtol=0.06)


def test_the_grid_is_drawn_with_who_walks_in_it():
    copies = GridEnvironments(Grid("S.G/#.X"), 1, slip=0.0, limit=9)
    copies.reset(0)
    copies.step(np.array([1]))
    assert copies.render() == "S @ G\n# . X"


def test_the_best_way_through_the_grid_is_the_shortest_where_nothing_slips():
    process = Grid("....G/.##.X/...../S....").process(0.0)
    assert policy_iteration(process).values[process.start.argmax()].item() == pytest.approx(10 - 6)
    assert torch.allclose(policy_iteration(process).values, value_iteration(process).values)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part("grid", {"map": "S.G/.."}), "all rows must have as many cells"),
        (Part("grid", {"map": "S.?G"}), "cells are S, G, X, # and '.', got '?'"),
        (Part("grid", {"map": "S..."}), "a start S and a goal G"),
        (Part("bandit", {"arms": 0}), "arms"),
    ],
)
def test_what_is_wrong_is_named(part, message):
    with pytest.raises(GradlabError) as error:
        make(part, 1)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"transition": [[[0.5, 0.4]], [[0, 1]]], "rewards": [[0], [0]]}, "row of state 0, action 0 sums to 0.9"),
        ({"transition": [[[1.0]], [[0, 1]]], "rewards": [[0], [0]]}, "rows of different lengths"),
        ({"rewards": [[0]]}, "transition"),
    ],
)
def test_a_file_is_refused_by_its_row(tmp_path, content, message):
    file = tmp_path / "process.json"
    file.write_text(json.dumps(content))
    with pytest.raises(GradlabError) as error:
        make(Part("table", {"file": str(file)}), 1)
    assert message in str(error.value)
    assert "process.json" in str(error.value)


def test_an_action_that_is_none_is_refused():
    copies = make("bandit", 1)
    copies.reset(0)
    with pytest.raises(GradlabError, match="from 0 to 9"):
        copies.step(np.array([10]))
