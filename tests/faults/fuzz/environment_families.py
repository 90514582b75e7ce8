"""A family of trainings in environments: knobs and maps that cannot be, and environments that break the rules."""

import json
import random
from pathlib import Path

from attempt import Attempt, argv
from damage import number, text, value

_RECIPES = {  # the smallest training of each
    "ppo": ("data.steps=64", "data.copies=2", "task.length=16", "train.batch_size=16", "model.hidden=4"),
    "a2c": ("data.steps=64", "data.copies=2", "model.hidden=4"),
    "reinforce": ("data.steps=200", "data.copies=2", "model.hidden=4"),
    "dqn": ("data.steps=128", "task.before=32", "task.every=32", "task.updates=1", "model.hidden=4",
            "train.batch_size=8"),
    "sac": ("data.steps=40", "task.before=20", "model.hidden=4", "train.batch_size=8"),
    "grid-qlearning": ("data.steps=400",),
    "grid-sarsa": ("data.steps=400",),
    "grid-monte-carlo": ("data.steps=400",),
    "grid-policy-iteration": (),
}  # fmt: skip
_FEW = ("data.validation=1", "data.test=1", "train.doctor=false", "--plain")
_KNOBS = [
    "data.env", "data.env.map", "data.env.slip", "data.env.limit", "data.steps", "data.copies", "data.seed",
    "task.discount", "task.entropy", "task.decay", "task.epsilon", "task.length", "task.before", "task.every",
    "task.size",
    "task.priority", "task.correction", "model.normalise", "model.power", "model.copy_every", "model.alpha",
    "train.clip",
    "train.batch_size", "train.lr", "model",
]  # fmt: skip
_MAPS = [
    "",
    "S",
    "G",
    "SG",
    "S.G/.",
    "S.G/...",
    "#",
    "S#G",
    "SSG",
    "SGG",
    "XSG",
    "/",
    "S.Z",
    "SG/" * 200 + "..",
    "é",
    "sg",
]
_ENVIRONMENTS = [
    "CartPole-v1", "Pendulum-v1", "MountainCar-v0", "Blackjack-v1", "Taxi-v3", "FrozenLake-v1", "CartPole-v999",
    "Nothing-v0", "bandit", "grid", "table", "ALE/Pong-v5", "a:b", "os:path", "", "../x", "custom", "CliffWalking-v1",
]  # fmt: skip
_TABLES = [
    '{"states": 2}',
    "[]",
    "{}",
    "nothing",
    '{"a": {"b": [[1, "c", 2]]}}',
    "null",
    '{"a": {"b": [[0.5, "a", "x"]]}}',
]

_CUSTOM = """
import gymnasium, numpy as np
import gradlab as gl

class Custom(gymnasium.Env):
    observation_space = {space}
    action_space = {actions}
    steps = 0
    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return {reset}
    def step(self, action):
        self.steps += 1
        done = self.steps >= {length}
        return {step}

@gl.register.environment("{name}")
def custom(num):
    return {made}
"""
_SOUND = {
    "space": "gymnasium.spaces.Box(-1, 1, (2,), np.float32)",
    "actions": "gymnasium.spaces.Discrete(2)",
    "reset": "np.zeros(2, np.float32), {}",
    "length": "5",
    "step": "np.full(2, 0.5, np.float32), 1.0, done, False, {}",
    "made": "[Custom() for _ in range(num)]",
}
_WRONG = {
    "space": ["None", "5", "gymnasium.spaces.Discrete(3)", "gymnasium.spaces.Box(-1, 1, (0,), np.float32)",
              "gymnasium.spaces.Dict({})", "gymnasium.spaces.Tuple([])", "gymnasium.spaces.MultiBinary(3)",
              "gymnasium.spaces.Box(0, 255, (2, 2, 3), np.uint8)", "gymnasium.spaces.Text(3)",
              "gymnasium.spaces.MultiDiscrete([2, 3])", "gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)"],
    "actions": ["None", "5", "gymnasium.spaces.Discrete(1)", "gymnasium.spaces.Discrete(2, start=5)",
                "gymnasium.spaces.MultiDiscrete([2, 2])", "gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)",
                "gymnasium.spaces.Box(-1, 1, (0,), np.float32)", "gymnasium.spaces.Box(-1, 1, (1,), np.float32)",
                "gymnasium.spaces.Box(-1, 1, (2, 2), np.float32)", "gymnasium.spaces.Dict({})"],
    "reset": ["np.zeros(2, np.float32)", "None", "5, {}", "np.zeros(3, np.float32), {}", "'text', {}", "[0.0, 0.0], {}",
              "np.full(2, np.nan), {}", "np.zeros(2, np.complex64), {}", "(None, {})", "1 / 0", "({}, {}, {})"],
    "length": ["1", "0", "10**9", "None"],
    "step": ["None", "5", "np.zeros(2), 1.0, done, {}", "np.zeros(3), 1.0, done, False, {}",
             "np.zeros(2), float('nan'), done, False, {}", "np.zeros(2), float('inf'), done, False, {}",
             "np.zeros(2), None, done, False, {}", "np.zeros(2), 'one', done, False, {}",
             "np.zeros(2), 1.0, None, None, {}",
             "np.zeros(2), 1.0, 'no', 5, {}", "np.zeros(2), np.ones(3), done, False, {}",
             "np.zeros(2), 1.0, done, False, None",
             "np.full(2, 7.0), 1.0, done, False, {}", "1 / 0", "np.zeros(2), 1e38, done, False, {}",
             "np.zeros(2), 1.0, np.array([done, done]), False, {}"],
    "made": ["[]", "None", "Custom()", "[Custom()] * num", "[Custom() for _ in range(num + 1)]", "[5] * num", "num",
             "Custom",
             "(Custom() for _ in range(num))", "1 / 0"],
}  # fmt: skip


def environments(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A training in an environment that is not there, cannot be, or does not keep to what gymnasium agrees on."""
    recipe = rng.choice(list(_RECIPES))
    kind, settings, words = rng.random(), list(_RECIPES[recipe]), recipe
    if kind < 0.5:
        recipe = rng.choice(["ppo", "a2c", "reinforce", "dqn", "sac", "grid-qlearning"])
        changed = {name: rng.choice(_WRONG[name]) for name in rng.sample(list(_WRONG), rng.choice([1, 1, 2]))}
        name = f"custom{rng.getrandbits(64)}"  # names stay registered in this process
        (here / "custom.py").write_text(_CUSTOM.format(name=name, **(_SOUND | changed)))
        settings = [*_RECIPES[recipe], f"data.env={name}", "--code=custom.py"]
        words = f"{recipe} in {changed}"
    elif kind < 0.65:
        settings += [f"data.env={rng.choice(_ENVIRONMENTS)}"]
    elif kind < 0.75:
        settings += ["data.env=grid", f"data.env.map={rng.choice([*_MAPS, text(rng)])}"]
    elif kind < 0.8:
        (here / "t.json").write_text(rng.choice([*_TABLES, json.dumps({"a": number(rng)})]))
        settings += ["data.env=table", "data.env.file=t.json"]
    else:
        settings += [f"{rng.choice(_KNOBS)}={value(rng)}" for _ in range(rng.choice([1, 2]))]
    return Attempt(words, argv(["train", recipe, *settings, *_FEW, "--out=r"]))
