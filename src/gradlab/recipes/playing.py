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
    data = Part("environment", {"env": Part("CartPole-v1")})
    return Recipe("ppo", data, Part("actor-critic"), Part("ppo"), train)


@recipe
def cartpole_ppo() -> Recipe:
    """A pole on a cart is kept upright, by proximal policy optimisation: within 100,000 steps."""
    return variant("cartpole-ppo", ppo())
