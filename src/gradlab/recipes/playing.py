"""Recipes that act in environments. `data.env=NAME` takes another, by the name that gymnasium has for it."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


@recipe
def ppo() -> Recipe:
    """Proximal policy optimisation in any environment: data.env=Acrobot-v1."""
    train = {
        "epochs": 1,
        "batch_size": 256,
        "lr": 1e-3,
        "schedule": Part("polynomial", {"power": 1.0}),
        "clip": 0.5,
        "evaluate_every": 400,
    }
    return Recipe("ppo", _cartpole(), Part("actor-critic"), Part("ppo"), train)


@recipe
def cartpole_ppo() -> Recipe:
    """A pole on a cart is kept upright, by proximal policy optimisation: within 100,000 steps."""
    return variant("cartpole-ppo", ppo())


@recipe
def acrobot_ppo() -> Recipe:
    """A double pendulum is swung up by its middle joint, by proximal policy optimisation."""
    changes = {"data__env": "Acrobot-v1", "data__steps": 200_000, "model__normalise": True}
    changes |= {"task__decay": 0.94, "task__entropy": 0.01}  # else a seed may stop exploring before it ever swings up
    return variant("acrobot-ppo", ppo(), **changes)


@recipe
def a2c() -> Recipe:
    """Advantage actor-critic: an update after every eight steps of each copy."""
    train = {"epochs": 1, "batch_size": "full", "lr": 7e-4, "optimizer": "rmsprop", "clip": 0.5, "evaluate_every": 200}
    return Recipe("a2c", _cartpole(), Part("actor-critic"), Part("a2c"), train)


@recipe
def reinforce() -> Recipe:
    """REINFORCE with a learned baseline, from whole episodes; task.baseline=false takes it away."""
    train = {"epochs": 1, "batch_size": "full", "lr": 5e-3, "evaluate_every": 5}
    return Recipe("reinforce", _cartpole(copies=4, steps=200_000), Part("actor-critic"), Part("reinforce"), train)


@recipe
def dqn() -> Recipe:
    """Deep Q-learning in any environment with a choice of actions: data.env=MountainCar-v0."""
    train = {"epochs": 1, "batch_size": 64, "lr": 2.3e-3, "clip": 10.0, "evaluate_every": 1024}
    task = {"before": 1024, "every": 256, "updates": 128, "random": 0.04, "falls": 0.16}
    model = Part("q-network", {"hidden": [256, 256], "copy_every": 128})
    return Recipe("dqn", _cartpole(copies=1, steps=50_000), model, Part("dqn", task), train | _SELDOM)


@recipe
def cartpole_dqn() -> Recipe:
    """A pole on a cart is kept upright, by deep Q-learning: within 50,000 steps."""
    return variant("cartpole-dqn", dqn(), task__double=False)


@recipe
def sac() -> Recipe:
    """Soft actor-critic in any environment whose actions are numbers: data.env=Pendulum-v1."""
    train = {"epochs": 1, "batch_size": 256, "lr": 1e-3, "evaluate_every": 2500}
    data = Part("environment", {"env": Part("Pendulum-v1"), "steps": 25_000, "copies": 1})
    return Recipe("sac", data, Part("soft-actor-critic", {"hidden": [64, 64]}), Part("sac"), train | _SELDOM)


@recipe
def pendulum_sac() -> Recipe:
    """A pendulum is swung up and held, by soft actor-critic: within 25,000 steps."""
    return variant("pendulum-sac", sac())


_SELDOM = {"checkpoint_every": 10_000}  # a checkpoint holds all that is remembered


def _cartpole(**values: int) -> Part:
    return Part("environment", {"env": Part("CartPole-v1"), **values})
