"""Environments of gymnasium by their names: stepped here one after the other, or in processes where they are slow."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from gradlab import owners
from gradlab.environments.classic import twins
from gradlab.environments.environment import Array, Environments, Step
from gradlab.errors import GradlabError, TrainingError, one_line
from gradlab.specs import Array as ArraySpec
from gradlab.specs import Box, Discrete, Spec

_STATES = ("state", "s", "last_u", "lastaction", "fickle_step", "steps_beyond_terminated")
"""What the environments below keep of an episode, beside their generator and the clock of its limit."""
_EXACT = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_CARDS = "gymnasium.envs.toy_text.blackjack"  # whose hands are lists
_STATELESS = ("OrderEnforcing", "PassiveEnvChecker", "TimeLimit")
"""Wrappers around them that keep nothing but the clock, which is put back: those that `gymnasium.make` adds."""
_RESET, _STEP = ("observation", "info"), ("observation", "reward", "terminated", "truncated", "info")


def installed() -> bool:
    """Whether there is a gymnasium."""
    return find_spec("gymnasium") is not None


def names() -> list[str]:
    """Of all that it knows; what is kept for compatibility with others is left out."""
    import gymnasium

    return [name for name in gymnasium.registry if not name.startswith(("phys2d/", "tabular/", "GymV"))]


def builder(name: str) -> Callable[..., Environments]:
    """What makes copies of the environment of that name."""

    def build(num: int, workers: bool = False, render: bool = False) -> Environments:
        one = partial(_make, name, render)
        if name in twins and not workers:
            return twins[name](num)
        with _named(name):
            return InWorkers(name, num, one) if workers else InProcess(name, [one() for _ in range(num)])

    return build


def _make(name: str, render: bool) -> Any:
    import gymnasium

    with warnings.catch_warnings():  # of gymnasium, that a newer version of an environment is there
        warnings.simplefilter("ignore")
        return gymnasium.make(name, render_mode="rgb_array" if render else None, disable_env_checker=True)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """What an environment raises, told by its name."""
    try:
        yield
    except GradlabError:
        raise
    except Exception as error:
        words = owners.blame(error) or f"{type(error).__name__}: {one_line(error)}"
        raise TrainingError(f"The environment {name} failed: {words}") from error


class InProcess(Environments):
    """Copies that are stepped one after the other: a step of classic control takes less than asking another process."""

    def __init__(self, name: str, copies: list[Any]):
        self.name, self.num, self.copies = name, len(copies), copies
        first = copies[0]
        self.observations = _observations(name, first.observation_space)
        self.actions = _actions(name, first.action_space)
        self._shape = tuple(first.observation_space.shape)
        self.exact = _can_be_put_back(first)
        self._discrete = isinstance(self.actions, Discrete)
        self._start = int(getattr(first.action_space, "start", 0))
        self._box = None if self._discrete else first.action_space
        self._dtype: Any = np.int64 if isinstance(self.observations, Discrete) else np.float32

    def reset(self, seed: int) -> Array:
        with _named(self.name):
            self._last = self._array(
                [self._parts(copy.reset(seed=seed + i), _RESET)[0] for i, copy in enumerate(self.copies)]
            )
        return self._last

    def step(self, actions: Array) -> Step:
        with _named(self.name):
            pairs = zip(self.copies, self._actions(actions), strict=True)
            results = [self._parts(copy.step(action), _STEP) for copy, action in pairs]
            ended = np.array([result[2] for result in results], dtype=bool)
            truncated = np.array([result[3] for result in results], dtype=bool)
            rewards = np.array([result[1] for result in results], dtype=np.float64)
            final = self._last = self._array([result[0] for result in results])
            if (over := ended | truncated).any():
                self._last = final.copy()
                for i in np.flatnonzero(over):
                    self._last[i] = self.copies[i].reset()[0]
        return Step(self._last, rewards, ended, truncated & ~ended, final)

    def _parts(self, returned: Any, names: tuple[str, ...]) -> Any:
        """What `step` or `reset` returned, where it is as many values as gymnasium's have."""
        if isinstance(returned, tuple) and len(returned) == len(names):
            return returned
        what = f"{len(returned)} values" if isinstance(returned, tuple) else f"one {type(returned).__name__}"
        raise TrainingError(
            f"The environment {self.name} must return {', '.join(names)} from {'step' if names == _STEP else 'reset'}, "
            f"but it returned {what}. Mend the environment."
        )

    def _array(self, observations: list[Any]) -> Array:
        array = np.array(observations, dtype=self._dtype)
        if array.shape[1:] != self._shape:
            raise TrainingError(
                f"The environment {self.name} gave observations of the shape {array.shape[1:]}, but its "
                f"observation_space says {self._shape}. Mend the environment."
            )
        return array

    def _actions(self, actions: Array) -> Any:
        """As the copies take them."""
        if self._discrete:
            return (actions + self._start).tolist() if self._start else actions.tolist()
        return actions.astype(self._box.dtype).reshape(self.num, *self._box.shape)  # type: ignore[union-attr]

    def snapshot(self) -> dict[str, Any]:
        if not self.exact:
            return {}
        copies = {str(i): _state(copy) for i, copy in enumerate(self.copies)}
        return {"copies": copies, "observed": torch.from_numpy(self._last.copy())}

    def restore(self, snapshot: dict[str, Any]) -> Array:
        self.reset(0)  # what else a copy needs before its first step
        for i, copy in enumerate(self.copies):
            _put_back(copy, snapshot["copies"][str(i)])
        self._last = snapshot["observed"].numpy().copy()
        return self._last

    def render(self, copy: int = 0) -> Array | str:
        try:
            with _named(self.name):
                picture: Array = self.copies[copy].render()
        except TrainingError as error:
            if type(error.__cause__).__name__ == "DependencyNotInstalled":
                raise GradlabError(f"To draw {self.name}: {one_line(error.__cause__)}") from error  # type: ignore[arg-type]
            raise
        return picture

    def close(self) -> None:
        for copy in self.copies:
            copy.close()


def _can_be_put_back(copy: Any) -> bool:
    """Whether all that the next steps depend on is known, also of what is wrapped around the environment."""
    while copy is not copy.unwrapped:
        if not (type(copy).__module__.startswith("gymnasium.wrappers.") and type(copy).__name__ in _STATELESS):
            return False
        copy = copy.env
    module = type(copy).__module__
    return module.startswith(_EXACT) and module != _CARDS


def _state(copy: Any) -> dict[str, Any]:
    inner = copy.unwrapped
    states = {name: getattr(inner, name) for name in _STATES if getattr(inner, name, None) is not None}
    arrays = {name: torch.from_numpy(np.array(value)) for name, value in states.items()}
    generator = json.dumps(inner.np_random.bit_generator.state)  # its whole numbers have 128 bits
    return {"states": arrays, "generator": generator, "elapsed": getattr(_clock(copy), "_elapsed_steps", None)}


def _put_back(copy: Any, state: Mapping[str, Any]) -> None:
    inner = copy.unwrapped
    inner.np_random.bit_generator.state = json.loads(state["generator"])
    for name in _STATES:
        if name in state["states"]:
            value = state["states"][name].numpy()
            setattr(inner, name, value.copy() if value.ndim else value.item())
        elif hasattr(inner, name):
            setattr(inner, name, None)
    if (clock := _clock(copy)) is not None:
        clock._elapsed_steps = state["elapsed"]


def _clock(copy: Any) -> Any:
    """The limit of time around an environment, if it has one."""
    while hasattr(copy, "env"):
        if hasattr(copy, "_elapsed_steps"):
            return copy
        copy = copy.env
    return None


def _observations(name: str, space: Any) -> Spec:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.Box) and space.shape:
        return ArraySpec.of(tuple(int(size) for size in space.shape))
    raise GradlabError(
        f"What is observed of {name} is {space}, which no model here reads: numbers of one shape (Box) and numbers of "
        "states (Discrete) are. Flatten it by a wrapper of gymnasium, registered under another name."
    )


def _actions(name: str, space: Any) -> Discrete | Box:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.Box) and np.isfinite([space.low, space.high]).all():
        return Box(tuple(map(float, space.low.ravel())), tuple(map(float, space.high.ravel())))
    raise GradlabError(
        f"The actions of {name} are {space}, which no algorithm here takes: a choice (Discrete) or numbers within "
        "finite bounds (Box) are. Wrap it, and register it under another name."
    )


class InWorkers(InProcess):
    """Copies, each in a process of its own (`AsyncVectorEnv`): for steps that take longer than a message."""

    def __init__(self, name: str, num: int, build: Callable[[], Any]):
        from gymnasium.vector import AsyncVectorEnv, AutoresetMode

        super().__init__(name, [build()])
        self.num, self.exact = num, False
        self.vector = AsyncVectorEnv([build] * num, autoreset_mode=AutoresetMode.SAME_STEP)

    def reset(self, seed: int) -> Array:
        with _named(self.name):
            self._last = self._array(self.vector.reset(seed=[seed + i for i in range(self.num)])[0])
        return self._last

    def step(self, actions: Array) -> Step:
        with _named(self.name):
            observed, rewards, ended, truncated, info = self.vector.step(np.array(self._actions(actions)))
        self._last = self._array(observed)
        final = self._last.copy()
        for i in np.flatnonzero(info.get("_final_obs", [])):
            final[i] = info["final_obs"][i]
        return Step(self._last, rewards, ended, truncated & ~ended, final)

    def snapshot(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.vector.close()
        super().close()
