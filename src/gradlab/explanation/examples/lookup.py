"""A worked example of attention: a table that can be differentiated."""

import math

import torch

from gradlab.explanation.walk import Step, worked
from gradlab.maths.key_value_store import KeyValueStore
from gradlab.nn.attention import DotAttention

VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [-1.0, 3.0], [4.0, -1.0], [0.0, -2.0]])


@worked("differentiable-lookup", "Looking up in a table of six values, exactly and softly")
def differentiable_lookup() -> list[Step]:
    keys, store = torch.eye(6), KeyValueStore()
    for key, value in zip(keys, VALUES, strict=True):
        store.put(key, value)
    attention = DotAttention()
    query = (keys[2] + 2 * keys[4]).requires_grad_()
    scores = attention.score(query[None], keys)[0]
    exact = scores @ VALUES
    weights = attention.weights(keys[2:3], keys)[0]
    soft = store.lookup(keys[2])
    (slope,) = torch.autograd.grad(store.lookup(query)[0], query)
    return [
        Step(
            "Six values, whose keys are the unit vectors: asked with a key, each key answers with 1 or 0.",
            r"\mathrm{lookup}(q) = \sum_i \langle q, e_i \rangle \, v_i",
            f"lookup(e₃) = {(keys[2] @ VALUES).tolist()} = v₃ = {store.get(keys[2]).tolist()}",
        ),
        Step(
            "It is linear, so any query has an answer.",
            r"\mathrm{lookup}(e_3 + 2 e_5) = v_3 + 2 v_5",
            f"{VALUES[2].tolist()} + 2 · {VALUES[4].tolist()} = {exact.tolist()}",
        ),
        Step(
            "With softmax the weights are positive and sum to 1: a mean of all values, in which v₃ counts most.",
            r"\mathrm{lookup}(q) = \sum_i \mathrm{softmax}_i(\langle q, e_j \rangle) \, v_i, \qquad "
            r"\frac{e}{e + 5} = 0.352",
            f"for e₃, v₃ has the weight {float(weights[2]):.4f} = {math.e / (math.e + 5):.4f}; "
            f"lookup(e₃) = {[round(x, 4) for x in soft.tolist()]}",
        ),
        Step(
            "A longer query is surer: 10 e₃ looks up nearly v₃ alone.",
            values=f"lookup(10 e₃) = {[round(x, 4) for x in store.lookup(10 * keys[2]).tolist()]}",
        ),
        Step(
            "And it has a slope, by which a network may learn to ask: that of the first entry of lookup(e₃ + 2 e₅).",
            r"\frac{\partial}{\partial q_i} \sum_j p_j v_j = p_i \left( v_i - \sum_j p_j v_j \right)",
            ", ".join(f"{x:.3f}" for x in slope.tolist()),
        ),
    ]
