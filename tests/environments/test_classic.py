"""The twins of classic control beside gymnasium's own: the same bits, also where an episode is over or put back."""

import numpy as np
import pytest

from gradlab.environments import make
from gradlab.environments.classic import twins
from gradlab.environments.gym import InProcess, _make
from gradlab.specs import Discrete

COPIES, STEPS = 5, 1200


def drawn(environments, generator):
    if isinstance(environments.actions, Discrete):
        return generator.integers(environments.actions.count, size=COPIES)
    low, high = environments.actions.low, environments.actions.high
    return generator.uniform(np.array(low) * 1.5, np.array(high) * 1.5, (COPIES, len(low)))  # some are cut off


@pytest.mark.parametrize("name", twins)
def test_a_twin_has_the_bits_of_gymnasium(name):
    theirs, ours = InProcess(name, [_make(name, False) for _ in range(COPIES)]), twins[name](COPIES)
    assert theirs.observations == ours.observations
    assert theirs.actions == ours.actions
    assert np.array_equal(theirs.reset(7), ours.reset(7))
    generator, over = np.random.default_rng(0), 0
    for _ in range(STEPS):
        actions = drawn(ours, generator)
        one, other = theirs.step(actions), ours.step(actions)
        for field, a, b in zip(one._fields, one, other, strict=True):
            assert np.array_equal(a, b), field
            assert a.dtype == b.dtype, field
        over += one.over.sum()
    assert over >= COPIES  # so that new episodes were compared too


@pytest.mark.parametrize("name", [*twins, "MountainCar-v0", "MountainCarContinuous-v0", "FrozenLake-v1", "Taxi-v4"])
def test_copies_are_put_back_where_they_stood(name):
    first, second = make(name, COPIES), make(name, COPIES)
    assert first.exact
    first.reset(3)
    generator = np.random.default_rng(1)
    for _ in range(30):
        first.step(drawn(first, generator))
    snapshot = first.snapshot()
    observed = second.restore(snapshot)
    for i in range(600):
        actions = drawn(first, generator)
        one, other = first.step(actions), second.step(actions)
        assert i or not np.array_equal(observed, one.final_observations)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_copies_differ_and_a_seed_repeats():
    rows = make("CartPole-v1", 3).reset(5)
    assert len(np.unique(rows, axis=0)) == 3
    assert np.array_equal(make("CartPole-v1", 2).reset(6), rows[1:])


@pytest.mark.parametrize(
    ("name", "state", "inked", "blank"),
    [
        ("CartPole-v1", [0.0, 0, np.pi / 2, 0], (0.5, -0.7), (0.0, 0.0)),  # the pole lies to the right
        ("CartPole-v1", [0.0, 0, 0.0, 0], (0.0, 0.0), (0.5, -0.7)),
        ("Acrobot-v1", [np.pi / 2, 0.0, 0, 0], (1.5, 0.0), (0.5, -0.5)),  # both links to the right
        ("Acrobot-v1", [np.pi / 2, np.pi / 2, 0, 0], (1.0, 0.5), (1.5, 0.0)),  # the second one upwards
        ("Pendulum-v1", [np.pi / 2, 0], (-0.5, 0.0), (0.0, 0.5)),
        ("Pendulum-v1", [0.0, 0], (0.0, 0.5), (-0.5, 0.0)),
    ],
)
def test_a_copy_is_drawn_as_it_stands(name, state, inked, blank):
    copies = make(name, 2, render=True)
    copies.reset(0)
    copies.state[:, 1] = state
    picture = copies.render(1)
    height, width, _ = picture.shape
    unit = height / 2 / {"CartPole-v1": 1.8, "Acrobot-v1": 2.3, "Pendulum-v1": 1.4}[name]
    seen = [picture[round(height / 2 - unit * y), round(width / 2 + unit * x)].tolist() for x, y in (inked, blank)]
    assert seen[0] != [255, 255, 255] == seen[1]
