"""A policy learns the way to a corner of a grid by REINFORCE: `gradlab train examples/gridworld.py`.

A stream gives the batches: episodes that the policy plays as it is when their step comes. What the stream remembers,
the baseline, is in its snapshot, so that a training that was killed goes on to the bit. The policy is gradlab's own
perceptron, judged by playing, beside one that acts at random. From the average cell the corner is 7 steps away.
"""

from typing import Annotated

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

import gradlab as gl
from gradlab import specs

SIDE, LONGEST = 8, 40  # of the grid, and of an episode
MOVES = torch.tensor([[-1, 0], [0, 1], [1, 0], [0, -1]])


@torch.no_grad()
def play(policy, place):
    """Episodes from these places on, by time: what was seen and done, and whether it was before the corner (0, 0)."""
    steps = []
    for _ in range(LONGEST):
        seen, before = one_hot(place, SIDE).flatten(1).float(), place.any(dim=1)
        action = policy(seen).softmax(dim=1).multinomial(1).squeeze(1)
        steps.append((seen, action, before.float()))
        place = torch.where(before[:, None], place + MOVES.to(place.device)[action], place).clamp(0, SIDE - 1)
    return [torch.stack(each, dim=1) for each in zip(*steps, strict=True)]


class Episodes(gl.Stream):
    def __init__(self, episodes):
        self.batch_size, self.steps_per_epoch, self.baseline = episodes, 10, torch.zeros(LONGEST)

    def batches(self, step):
        while True:
            seen, actions, before = play(self.model, torch.randint(SIDE, [self.batch_size, 2], device=self.device))
            returns = -before.flip(1).cumsum(1).flip(1)  # a step costs 1
            advantages = (returns - self.baseline.to(self.device)) * before
            self.baseline = 0.9 * self.baseline + 0.1 * returns.mean(0).cpu()  # before a snapshot can be taken
            yield {"seen": seen, "actions": actions, "advantages": advantages}

    def snapshot(self):
        return {"baseline": self.baseline}

    def restore(self, snapshot):
        self.baseline = snapshot["baseline"]


@gl.register.dataset("grid")
def grid(seed: int, *, episodes: Annotated[int, "played in each step"] = 32):
    places = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))
    judged = (gl.Examples.by_name({"places": places.repeat(times, 1)}) for times in (10, 20))
    return gl.Dataset.of(Episodes(episodes), *judged, spec=specs.Table(2 * SIDE))


@gl.register.task("policy-gradient")
class Reinforce(gl.Task):
    outputs, criterion = len(MOVES), gl.Criterion("return", higher_is_better=True)

    def objectives(self):
        return {"policy": gl.Objective(loss=self.loss)}

    def loss(self, model, batch):
        """-log π(a | s), times how much better than the baseline it went from there on."""
        surprise = cross_entropy(model(batch["seen"]).mT, batch["actions"], reduction="none")
        return (surprise * batch["advantages"]).sum(), len(surprise)

    def evaluate(self, model, split):
        return {"return": -play(model, split.parts["places"])[2].sum(dim=1).mean().item()}

    def baselines(self, train, model):
        return {"random": nn.Linear(2 * SIDE, 4, bias=False).apply(lambda layer: nn.init.zeros_(layer.weight))}


@gl.register.recipe
def gridworld():
    return gl.Recipe("gridworld", "grid", "mlp", "policy-gradient", {"steps": 200, "lr": 1e-2})
