"""Files as people write them, whose recipes, data, models and tasks gradlab does not know."""

PAIRS = '''\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import gradlab as gl
from gradlab.specs import Pair, Table


@gl.register.dataset("views")
def views(seed, *, noise: float = 0.1):
    """Things, each seen twice."""
    draw = torch.Generator().manual_seed(seed)
    things = torch.randn(60, 4, generator=draw)
    first, second = (things + noise * torch.randn(60, 4, generator=draw) for _ in range(2))
    pairs = gl.Examples({"first": first, "second": second}, np.arange(60))
    train, validation, test = (pairs.subset(np.arange(*some)) for some in ((0, 40), (40, 50), (50, 60)))
    return gl.Dataset.of(train, validation, test, spec=Pair(Table(4), Table(4)))


@gl.register.model("twins")
def twins(inputs: Pair, outputs, *, width: int = 8, dropout: float = 0.1):
    first = nn.Linear(inputs.source.features, width)
    return nn.Sequential(first, nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 4))


@gl.register.task("match")
class Match(gl.Task):
    criterion = gl.Criterion("found", higher_is_better=True)

    def __init__(self, targets, *, temperature: float = 0.1):
        self.temperature = temperature
        self.batch_metrics = {"found": self.found}

    def objectives(self):
        return {"infonce": gl.Objective(loss=self.infonce)}

    def scores(self, model, batch):
        first, second = (F.normalize(model(batch[name]), dim=1) for name in ("first", "second"))
        return first @ second.T / self.temperature

    def infonce(self, model, batch):
        scores = self.scores(model, batch)
        return F.cross_entropy(scores, torch.arange(len(scores)), reduction="sum"), len(scores)

    def found(self, model, batch):
        scores = self.scores(model, batch)
        return (scores.argmax(1) == torch.arange(len(scores))).double()


@gl.register.recipe
def my_pairs():
    """Which views are of the same thing?"""
    return gl.Recipe("my-pairs", "views", "twins", "match", {"epochs": 3, "batch_size": 8, "lr": 0.01})
'''

CLOUDS = '''\
import numpy as np
from torch import nn

import gradlab as gl


@gl.register.data("clouds")
def clouds(seed, *, count: int = 90):
    """Points around three places, in metres."""
    draw = np.random.default_rng(seed)
    places = 500 + 100 * np.array([[0, 0], [1, 0], [0, 1]])
    y = np.arange(count) % 3
    return gl.Raw(inputs=places[y] + 10 * draw.normal(size=(count, 2)), targets=y, classes=["here", "east", "north"])


@gl.register.model("small")
def small(inputs, outputs, *, width: int = 16):
    first = nn.Linear(int(np.prod(inputs.shape)), width)
    return nn.Sequential(nn.Flatten(), first, nn.Tanh(), nn.Linear(width, outputs))


@gl.register.recipe
def where():
    """Which place is a point near?"""
    return gl.Recipe("where", "clouds", "small", "classify", {"epochs": 12, "batch_size": 16, "lr": 0.02})
'''

STREAM = """\
import numpy as np
import torch
from torch import nn

import gradlab as gl
from gradlab.specs import Table


class Endless(gl.Stream):
    steps_per_epoch = 10

    def __init__(self, end):
        self.end = end

    def batches(self, step):
        while step < self.end:
            yield batch(step)
            step += 1


def batch(seed):
    x = torch.randn(8, 2, generator=torch.Generator().manual_seed(seed))
    return {"x": x, "y": x.sum(1, keepdim=True)}


@gl.register.dataset("endless")
def endless(seed, *, end: int = 10**9):
    held = gl.Examples(batch(10**9), np.arange(8))
    return gl.Dataset.of(Endless(end), held, held, spec=Table(2))


@gl.register.model("straight")
def straight(inputs, outputs):
    return nn.Linear(inputs.features, 1)


@gl.register.task("sum")
class Sum(gl.Task):
    def objectives(self):
        return {"mse": gl.Objective(loss=self.mse)}

    def mse(self, model, batch):
        return (model(batch["x"]) - batch["y"]).square().sum(), len(batch["x"])


@gl.register.recipe
def sums():
    return gl.Recipe("sums", "endless", "straight", "sum", {"steps": 30, "lr": 0.1})
"""

DRAWING = '''\
import math
from typing import Annotated

import torch
from torch import nn

import gradlab as gl
from gradlab import specs
from gradlab.tasks.generative import Generative, Request


@gl.register.model("flat")
class Flat(nn.Module):
    """A plane through the examples, moved by the class."""

    def __init__(self, inputs: specs.Array, outputs, *, latent: int = 2):
        super().__init__()
        self.shape, size = inputs.shape, math.prod(inputs.shape)
        self.latent = latent
        self.encoder, self.decoder = nn.Linear(size, latent), nn.Linear(latent, size)
        self.classes = nn.Embedding(10, size)

    def decode(self, z, labels=None, guidance=1.0):
        flat = self.decoder(z) + (0 if labels is None else guidance * self.classes(labels))
        return flat.reshape(len(z), *self.shape)


class Clouds(nn.Module):
    """Each number by itself, normally distributed: a baseline."""

    def __init__(self, examples):
        super().__init__()
        self.register_buffer("mean", examples.mean(0))
        self.register_buffer("std", examples.std(0))

    def sample(self, count):
        return self.mean + self.std * torch.randn(count, *self.mean.shape, device=self.mean.device)


@gl.register.task("drawing")
class Drawing(Generative):
    """Reconstruction, with samples drawn from the plane."""

    name = "drawing"
    options = ("guidance", "steps", "sampler")

    def __init__(self, targets, *, conditional: Annotated[bool, "tell the model the class"] = False):
        self.conditional = conditional
        super().__init__(targets)

    def objectives(self):
        return {"loss": gl.Objective(loss=self.error)}

    def error(self, model, batch):
        inputs = batch["inputs"]
        labels = batch["targets"] if self.conditional else None
        output = model.decode(model.encoder(inputs.flatten(1)), labels)
        return (output - inputs).square().sum(), len(inputs)

    def noise(self, model, count):
        return torch.randn(count, model.latent)

    def from_noise(self, model, noise, request):
        guidance = 1.0 if request.guidance is None else request.guidance
        return model.decode(noise, request.labels, guidance)

    def trajectory(self, model, count, request=Request()):
        end = self.sample(model, count, request)
        begin = torch.randn(end.shape)
        for t in torch.linspace(0, 1, 1 + (request.steps or 30)):
            yield (1 - t) * begin + t * end

    def encode(self, model, inputs):
        return model.encoder(inputs.flatten(1))

    def reconstruct(self, model, inputs):
        return model.decode(self.encode(model, inputs))

    def baselines(self, train, model):
        return {"clouds": Clouds(train.inputs[:])}


@gl.register.recipe
def drawn_digits():
    return gl.Recipe("drawn-digits", "digits", "flat", "drawing", {"epochs": 2})


@gl.register.recipe
def drawn_moons():
    return gl.Recipe("drawn-moons", "moons", "flat", "drawing", {"epochs": 2})
'''
