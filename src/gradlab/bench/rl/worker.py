"""One contestant of `gradlab bench rl`: JSON lines in and out, as in `bench/worker.py`.

The first line has the work; the answer says where it is done. Each further line has a seed, and is answered by the
figures of one training. Both are judged by the same code, in the same episodes, and the time that takes is not counted.
"""

import json
import os
import sys
import time
from typing import Any

from gradlab.process import prepare


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    work = json.loads(sys.stdin.readline())
    if not work["peer"]:
        prepare()  # before torch, as the command does
    answers.write(json.dumps(_about()) + "\n")
    for line in sys.stdin:
        seed = json.loads(line)["seed"]
        answers.write(json.dumps(_by_peer(work, seed) if work["peer"] else _by_gradlab(work, seed)) + "\n")


def _about() -> dict[str, str]:
    import torch

    from gradlab.bench.device import device_name, versions

    return {
        "device": f"{device_name(torch.device('cpu'))}, one thread each",
        "versions": versions("stable-baselines3", "gymnasium"),
    }


def _experiment(work: dict[str, Any], seed: int) -> Any:
    import torch

    from gradlab.recipe import Recipe
    from gradlab.training.experiment import Experiment

    recipe = Recipe.from_toml(work["recipe"], "the recipe").override({"train.seed": seed, "train.threads": 1})
    return Experiment.of(recipe, torch.device("cpu"))


def _by_gradlab(work: dict[str, Any], seed: int) -> dict[str, Any]:
    from gradlab.tasks import evaluate
    from gradlab.training import driver

    experiment = _experiment(work, seed)
    splits, judging = experiment.splits, Clock()
    parts = experiment.model, experiment.task, splits["train"], splits["validation"], experiment.plan
    with driver.training(*parts, threads=1) as training:
        judge = training._evaluate

        def timed() -> None:
            with judging:
                judge()

        training._evaluate = timed  # type: ignore[method-assign]
        with Clock() as whole:
            training.run()
    figures = evaluate(experiment.model, experiment.task, splits["test"])
    return {
        "return": figures["return"],
        **_times(whole, judging),
        "steps": _steps(splits["train"]),
        "parameters": sum(p.numel() for p in experiment.model.parameters() if p.requires_grad),
    }


class Clock:
    """Wall and CPU time spent within it, in seconds."""

    wall = cpu = 0.0

    def __enter__(self) -> "Clock":
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._began[0]
        self.cpu += time.process_time() - self._began[1]


def _times(whole: Clock, judging: Clock) -> dict[str, float]:
    return {"seconds": whole.wall - judging.wall, "cpu_seconds": whole.cpu - judging.cpu}


def _steps(stream: Any) -> int:
    """In the environment, that whole rounds make of those that are asked for."""
    steps: int = stream.acting.steps // stream.every * stream.every if hasattr(stream, "every") else 0
    return steps or stream.acting.steps // stream.rows * stream.rows


class _Peer:
    """A model of the peer's, as our judge asks it."""

    def __init__(self, model: Any):
        self.model = model

    def parameters(self) -> Any:
        return iter(self.model.policy.parameters())

    def act(self, observations: Any) -> Any:
        import torch

        return torch.as_tensor(self.model.predict(observations.numpy(), deterministic=True)[0])


def _by_peer(work: dict[str, Any], seed: int) -> dict[str, Any]:
    import copy

    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    from gradlab.tasks.playing.play import played

    torch.set_num_threads(1)
    experiment = _experiment(work, seed)
    acting, plan, settings = experiment.splits["train"].acting, experiment.plan, dict(work["settings"])
    steps = _steps(experiment.splits["train"])
    rate, falls = settings.pop("lr"), settings.pop("falls", False)
    network = {"net_arch": settings.pop("net_arch")}
    model = getattr(stable_baselines3, work["algorithm"])(
        "MlpPolicy",
        make_vec_env(acting.env.name, acting.copies, seed=seed),
        learning_rate=(lambda left: rate * left) if falls else rate,
        policy_kwargs=network,
        seed=seed,
        device="cpu",
        **settings,
    )

    class Judge(BaseCallback):  # type: ignore[misc, unused-ignore]  # only typed where it is installed
        """As often as ours is judged; the best weights are kept."""

        every, spent = steps * plan.evaluate_every // experiment.steps // acting.copies, Clock()
        best, weights = -float("inf"), copy.deepcopy(model.policy.state_dict())

        def _on_step(self) -> bool:
            if self.n_calls % self.every == 0 or self.num_timesteps >= steps:
                with self.spent:
                    score = played(_Peer(self.model), experiment.splits["validation"])[0].mean()
                    if score > self.best:
                        self.best, self.weights = score, copy.deepcopy(self.model.policy.state_dict())
            return True

    judge = Judge()
    with Clock() as whole:
        model.learn(steps, callback=judge)
    model.policy.load_state_dict(judge.weights)
    return {
        "return": float(played(_Peer(model), experiment.splits["test"])[0].mean()),
        **_times(whole, judge.spent),
        "steps": int(model.num_timesteps),
        "parameters": sum(p.numel() for name, p in model.policy.named_parameters() if "target" not in name),
    }


if __name__ == "__main__":
    main()
