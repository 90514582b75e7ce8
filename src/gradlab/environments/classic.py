"""Twins of gymnasium's CartPole, Acrobot and Pendulum that move all copies at once, to the same bits.

Most of the time of a small training would otherwise pass in stepping copies one after the other. Constants, order of
operations and types are those of gymnasium 1.4, and the tests compare every bit; other versions have gymnasium's own.
They are drawn here too, since gymnasium needs a library of games for it.
"""

import json
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch

from gradlab.environments import drawing
from gradlab.environments.environment import Array, Environments, Step
from gradlab.specs import Box, Discrete, Spec, Table


class Classic(Environments):
    """Copies whose states are the columns of one array."""

    limit: ClassVar[int]
    """Steps after which an episode is cut off."""
    exact = True

    def __init__(self, num: int):
        self.num = num
        self.generators: list[np.random.Generator] = []
        self.state, self.elapsed = self._column(num), np.zeros(num, np.int64)

    def _column(self, num: int) -> Array:
        return np.zeros((4, num))

    def begin(self, generator: np.random.Generator) -> Array:
        """The first state of an episode."""
        raise NotImplementedError

    def move(self, actions: Array) -> tuple[Array, Array]:
        """Change the state; rewards, and which episodes have ended."""
        raise NotImplementedError

    def observe(self) -> Array:
        """Of all copies, a row for each."""
        raise NotImplementedError

    def reset(self, seed: int) -> Array:
        self.generators = [np.random.default_rng(seed + i) for i in range(self.num)]
        self.state = np.stack([self.begin(generator) for generator in self.generators], 1)
        self.elapsed[:] = 0
        return self.observe()

    def step(self, actions: Array) -> Step:
        rewards, ended = self.move(actions)
        self.elapsed += 1
        over = ended | (self.elapsed >= self.limit)
        observed = final = self.observe()
        if over.any():
            for i in over.nonzero()[0].tolist():
                self.state[:, i] = self.begin(self.generators[i])
            self.elapsed[over] = 0
            observed = self.observe()
        return Step(observed, rewards, ended, over & ~ended, final)

    def snapshot(self) -> dict[str, Any]:
        generators = json.dumps([generator.bit_generator.state for generator in self.generators])
        kept = {"state": torch.from_numpy(self.state.copy()), "elapsed": torch.from_numpy(self.elapsed.copy())}
        return {**kept, "generators": generators}

    def restore(self, snapshot: dict[str, Any]) -> Array:
        self.reset(0)
        self.state, self.elapsed = (snapshot[name].numpy().copy() for name in ("state", "elapsed"))
        for generator, state in zip(self.generators, json.loads(snapshot["generators"]), strict=True):
            generator.bit_generator.state = state
        return self.observe()


class CartPole(Classic):
    """A pole stands on a cart, which is pushed to the left or to the right (Barto, Sutton & Anderson 1983)."""

    observations: Spec = Table(4)
    actions = Discrete(2)
    limit = 500

    def begin(self, generator: np.random.Generator) -> Array:
        return generator.uniform(-0.05, 0.05, 4)

    def move(self, actions: Array) -> tuple[Array, Array]:
        _, velocity, angle, turning = self.state
        cos, sin = np.cos(angle), np.sin(angle)
        force = np.where(actions == 1, 10.0, -10.0)
        pushed = (force + 0.05 * np.square(turning) * sin) / 1.1
        turns = (9.8 * sin - cos * pushed) / (0.5 * (4.0 / 3.0 - 0.1 * np.square(cos) / 1.1))
        speeds = pushed - 0.05 * turns * cos / 1.1
        self.state = self.state + 0.02 * np.array([velocity, speeds, turning, turns])
        return np.ones(self.num), (np.abs(self.state[0]) > 2.4) | (np.abs(self.state[2]) > 12 * 2 * np.pi / 360)

    def observe(self) -> Array:
        return self.state.T.astype(np.float32, order="C")

    def render(self, copy: int = 0) -> Array | str:
        position, _, angle, _ = self.state[:, copy]
        return drawing.cart_and_pole(position, angle)


class Acrobot(Classic):
    """Two links hang from a joint; the one between them is turned, until the end swings above a line (Sutton 1996)."""

    observations: Spec = Table(6)
    actions = Discrete(3)
    limit = 500

    def begin(self, generator: np.random.Generator) -> Array:
        return generator.uniform(-0.1, 0.1, 4).astype(np.float32).astype(np.float64)

    def move(self, actions: Array) -> tuple[Array, Array]:
        torque, s = np.array([-1.0, 0.0, 1.0])[actions], self.state
        k1 = _acrobot(s, torque)
        k2 = _acrobot(s + 0.1 * k1, torque)
        k3 = _acrobot(s + 0.1 * k2, torque)
        k4 = _acrobot(s + 0.2 * k3, torque)
        s = s + 0.2 / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        for angles in s[:2]:  # a turn at a time, as the bits want it
            while (far := angles > np.pi).any():
                angles[far] -= 2 * np.pi
            while (far := angles < -np.pi).any():
                angles[far] += 2 * np.pi
        np.clip(s[2], -4 * np.pi, 4 * np.pi, out=s[2])
        np.clip(s[3], -9 * np.pi, 9 * np.pi, out=s[3])
        self.state = s
        ended = -np.cos(s[0]) - np.cos(s[1] + s[0]) > 1.0
        return np.where(ended, 0.0, -1.0), ended

    def observe(self) -> Array:
        a, b, *turning = self.state
        return np.array([np.cos(a), np.sin(a), np.cos(b), np.sin(b), *turning]).T.astype(np.float32, order="C")

    def render(self, copy: int = 0) -> Array | str:
        return drawing.two_links(*self.state[:2, copy])


def _acrobot(state: Array, torque: Array) -> Array:
    """How the angles and their speeds change, as the book has it; masses and lengths are 1, centres in the middle."""
    first, second, turning, bending = state
    cos, sin = np.cos(second), np.sin(second)
    d1 = 0.25 + (1.25 + cos) + 1.0 + 1.0
    d2 = (0.25 + 0.5 * cos) + 1.0
    phi2 = 0.5 * 9.8 * np.cos(first + second - np.pi / 2.0)
    phi1 = -0.5 * _squared(bending) * sin - 1.0 * bending * turning * sin + 1.5 * 9.8 * np.cos(first - np.pi / 2) + phi2
    bends = (torque + d2 / d1 * phi1 - 0.5 * _squared(turning) * sin - phi2) / (0.25 + 1.0 - _squared(d2) / d1)
    return np.array([turning, bending, -(d2 * bends + phi1) / d1, bends])


class Pendulum(Classic):
    """A pendulum is to be swung up and held, by a torque that is too weak to lift it at once."""

    observations: Spec = Table(3)
    actions = Box((-2.0,), (2.0,))
    limit = 200

    def _column(self, num: int) -> Array:
        return np.zeros((2, num))

    def begin(self, generator: np.random.Generator) -> Array:
        high = np.array([np.pi, 1.0])
        return generator.uniform(-high, high)

    def move(self, actions: Array) -> tuple[Array, Array]:
        angle, turning = self.state
        torque = np.clip(actions.astype(np.float32)[:, 0], -2.0, 2.0)
        upright = ((angle + np.pi) % (2 * np.pi)) - np.pi
        costs = _squared(upright) + 0.1 * _squared(turning) + 0.001 * _squared(torque)
        turning = np.clip(turning + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        self.state = np.array([angle + turning * 0.05, turning])
        return -costs, np.zeros(self.num, bool)

    def observe(self) -> Array:
        angle, turning = self.state
        return np.array([np.cos(angle), np.sin(angle), turning]).T.astype(np.float32, order="C")

    def render(self, copy: int = 0) -> Array | str:
        return drawing.pendulum(self.state[0, copy])


def _squared(x: Array) -> Array:
    """As the power of a single number is rounded: a product may differ and, by the CPU, `np.power` of an array too."""
    if x.dtype == np.float32:
        return np.array([one**2 for one in x])
    squares: Array = np.float_power(x, 2.0)
    return squares


twins: dict[str, Callable[[int], Classic]] = {"CartPole-v1": CartPole, "Acrobot-v1": Acrobot, "Pendulum-v1": Pendulum}
"""By gymnasium's names."""
