"""Recipes of reinforcement learning on tables: a grid world, in which the best policy is known exactly."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


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
    return _on_the_grid("grid-monte-carlo", "monte-carlo", "monte-carlo", evaluate_every=10)


@recipe
def grid_sarsa() -> Recipe:
    """The same by acting: values of the policy that acts, learned from each step."""
    return _on_the_grid("grid-sarsa", "sarsa", "temporal-difference", evaluate_every=1000)


@recipe
def grid_qlearning() -> Recipe:
    """The same by acting: values of the best policy, learned from each step of another."""
    return _on_the_grid("grid-qlearning", "q-learning", "temporal-difference", evaluate_every=1000)
