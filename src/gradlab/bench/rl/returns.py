"""Reinforcement learning beside Stable-Baselines3: returns on unseen episodes, and the time of the training."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.beside import start
from gradlab.bench.processes import WorkerFailed
from gradlab.errors import GradlabError, unknown
from gradlab.recipe import Recipe

SEEDS = 5
_WORKER = "gradlab.bench.rl.worker"
_GRADLAB, _PEER = "gradlab", "Stable-Baselines3"


@dataclass(frozen=True, kw_only=True)
class RLCase:
    """What the recipe of its name is to reach, and the same for the peer."""

    goal: float
    algorithm: str
    settings: Mapping[str, Any]
    """Of the peer's class: those of the recipe in its words. Networks are `net_arch` there."""


_PPO = {"n_steps": 128, "batch_size": 256, "n_epochs": 10, "lr": 1e-3, "falls": True, "net_arch": [64, 64]}
CASES = {
    "cartpole-ppo": RLCase(goal=475, algorithm="PPO", settings=_PPO),
    "cartpole-dqn": RLCase(
        goal=475,
        algorithm="DQN",
        settings={
            "lr": 2.3e-3,
            "batch_size": 64,
            "buffer_size": 50_000,
            "learning_starts": 1024,
            "target_update_interval": 256,  # in steps of the environment, after which 128 updates are made
            "train_freq": 256,
            "gradient_steps": 128,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
            "net_arch": [256, 256],
        },
    ),
    "acrobot-ppo": RLCase(goal=-100, algorithm="PPO", settings={**_PPO, "gae_lambda": 0.94, "ent_coef": 0.01}),
    "pendulum-sac": RLCase(
        goal=-200,
        algorithm="SAC",
        settings={"lr": 1e-3, "buffer_size": 25_000, "batch_size": 256, "net_arch": [64, 64]},
    ),
}


@dataclass(frozen=True, kw_only=True)
class RLRow:
    """One contestant: figures of each seed."""

    title: str
    returns: list[float]
    """Means over 100 unseen episodes, by the best weights."""
    seconds: list[float]
    """Of the training without its evaluations."""
    cpu_seconds: list[float]
    """The same by the clock of its process, which does not count the time that others use the machine."""
    ratio: float
    """The median of its time beside the peer's with the same seed, over the seeds that both had."""
    cpu_ratio: float
    parameters: int
    """That are trained."""


@dataclass(frozen=True, kw_only=True)
class RLCompared:
    """Both on one case."""

    title: str
    steps: int
    goal: float
    seeds: int
    device: str
    versions: str
    rows: list[RLRow]


def check_rl(names: Sequence[str], seeds: int, peer_seeds: int | None = None) -> None:
    for name in names:
        if name not in CASES:
            raise unknown("case", name, CASES)
    if seeds < 1:
        raise GradlabError(f"--seeds {seeds}: at least one seed is needed.")
    if peer_seeds is not None and not 1 <= peer_seeds <= seeds:
        raise GradlabError(f"--peer-seeds {peer_seeds}: it must be from 1 to --seeds, {seeds}.")


def bench_rl(recipe: Recipe, progress: Progress, seeds: int = SEEDS, peer_seeds: int | None = None) -> RLCompared:
    """Both learn the recipe of a case, each in a process of its own; they take turns, seed by seed.

    The peer has the first `peer_seeds`: times differ less from seed to seed than returns do.
    """
    case, answers = CASES[recipe.name], dict[str, list[dict[str, Any]]]()
    work = {"recipe": recipe.to_toml(), "algorithm": case.algorithm, "settings": dict(case.settings)}
    with ExitStack() as stack:
        started = {
            title: start(_WORKER, title, stack, progress, {**work, "peer": title == _PEER})
            for title in (_GRADLAB, _PEER)
        }
        for seed in range(seeds):
            for title, (worker, _) in started.items():
                if title == _PEER and seed >= (seeds if peer_seeds is None else peer_seeds):
                    continue
                try:
                    one = worker.ask({"seed": seed})
                except WorkerFailed as error:
                    raise GradlabError(f"{title} failed: {error}") from None
                progress(
                    f"{recipe.name}: {title}, seed {seed}: return {one['return']:.1f}, {one['cpu_seconds']:.1f} s of "
                    f"the CPU, {one['seconds']:.1f} s in all"
                )
                answers.setdefault(title, []).append(one)
    steps = {one["steps"] for results in answers.values() for one in results}
    if len(steps) > 1:
        raise GradlabError(f"The contestants took other numbers of steps, {steps}, and cannot be compared.")
    rows = [
        RLRow(
            title=title,
            returns=[one["return"] for one in results],
            seconds=[one["seconds"] for one in results],
            cpu_seconds=[one["cpu_seconds"] for one in results],
            ratio=_ratio(results, answers[_PEER], "seconds"),
            cpu_ratio=_ratio(results, answers[_PEER], "cpu_seconds"),
            parameters=results[0]["parameters"],
        )
        for title, results in answers.items()
    ]
    about = started[_GRADLAB][1]
    return RLCompared(title=recipe.name, steps=steps.pop(), goal=case.goal, seeds=seeds, rows=rows, **about)


def _ratio(own: Sequence[Mapping[str, Any]], peer: Sequence[Mapping[str, Any]], clock: str) -> float:
    ratio: float = statistics.median(one[clock] / other[clock] for one, other in zip(own, peer, strict=False))
    return ratio
