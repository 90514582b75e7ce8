"""Recipes on graphs: nodes and edges."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe
from gradlab.registry import Part


@recipe
def karate_gcn() -> Recipe:
    """Zachary's karate club: whom 32 members followed, from the labels of two and all friendships, by a GCN."""
    train = {"steps": 200, "batch_size": 64, "optimizer": "adam", "lr": 1e-2, "weight_decay": 5e-4, "keep": "last"}
    model = Part("gcn", {"layers": 3, "hidden": 16})
    return Recipe("karate-gcn", Part("karate", {"validation": 0.0}), model, Part("classify"), train)


@recipe
def blocks_gcn() -> Recipe:
    """A generated block model: the group of each node, from 20 labels of each, poor features and edges, by a GCN."""
    train = {"steps": 200, "batch_size": 4096, "optimizer": "adam", "lr": 1e-2, "weight_decay": 5e-4}
    model = Part("gcn", {"hidden": 32, "dropout": 0.5})
    return Recipe("blocks-gcn", Part("blocks", {"labels": 20}), model, Part("classify"), train)


@recipe
def graph() -> Recipe:
    """A graph of one's own (--data NODES.csv data.edges=EDGES.csv data.target=COLUMN), by GraphSAGE."""
    train = {"steps": 300, "batch_size": 256, "optimizer": "adamw", "lr": 5e-3, "weight_decay": 1e-2}
    model = Part("sage", {"hidden": 64, "dropout": 0.3})
    return Recipe("graph", Part("graph"), model, Part("auto"), train)
