"""Recipes of reinforcement learning on tables: bandits, and a grid world whose best policy is known exactly."""

from dataclasses import replace

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.recipes.playing import reinforce
from gradlab.registry import Part


@recipe
def bandit_reinforce() -> Recipe:
    """Which of ten arms pays most, by REINFORCE: a softmax of ten numbers, and every episode is one step."""
    bandit = {"data.env": "bandit", "data.copies": 32, "data.steps": 32_000, "task.length": 1, "model.hidden": []}
    return replace(
        reinforce().override({**bandit, "train.lr": 0.03, "train.keep": "last", "train.evaluate_every": 100}),
        name="bandit-reinforce",
    )


def _on_the_grid(name: str, model: str, task: str, **train: object) -> Recipe:
    data = Part("environment", {"env": Part("grid"), "steps": 40_000})
    return Recipe(name, data, Part(model), Part(task), {"epochs": 1, "keep": "last", **train})


@recipe
def grid_value_iteration() -> Recipe:
    """The best way through a slippery grid world, from its tables, by Bellman's operator again and again."""
    return _on_the_grid("grid-value-iteration", "value-iteration", "planning", evaluate_every=10)


@recipe
def grid_policy_iteration() -> Recipe:
    """The same by evaluating a policy exactly and improving it: a few steps."""
    recipe = _on_the_grid("grid-policy-iteration", "policy-iteration", "planning", evaluate_every=1)
    return variant("grid-policy-iteration", recipe, task__sweeps=10)


@recipe
def grid_monte_carlo() -> Recipe:
    """The same by acting: values are mean returns of whole episodes."""
    recipe = _on_the_grid("grid-monte-carlo", "monte-carlo", "monte-carlo", evaluate_every=50)
    return variant("grid-monte-carlo", recipe, data__steps=200_000)


@recipe
def grid_sarsa() -> Recipe:
    """The same by acting: values of the policy that acts, learned from each step."""
    return _on_the_grid("grid-sarsa", "sarsa", "temporal-difference", evaluate_every=1000)


@recipe
def grid_qlearning() -> Recipe:
    """The same by acting: values of the best policy, learned from each step of another."""
    recipe = _on_the_grid("grid-qlearning", "q-learning", "temporal-difference", evaluate_every=1000)
    return variant("grid-qlearning", recipe, task__epsilon=0.6)  # what it learns does not depend on how it acts
