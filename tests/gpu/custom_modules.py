"""Modules and objectives as people write them, most of which no recording of a step can repeat."""

import functools
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

WIDTH, HIDDEN, CLASSES = 8, 16, 4
total_calls = 0
schedule = SimpleNamespace(temperature=1.0)


@dataclass(frozen=True)
class Case:
    """A module, what is minimized, and how the step must end up."""

    make: Callable[[], nn.Module]
    mode: str = "eager"
    reason: str = ""
    """A pattern for why the step is eager."""
    objective: Callable[[], Any] | None = None
    inputs: tuple[int, ...] = (WIDTH,)
    tokens: bool = False


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.setup()

    def setup(self):
        pass

    def hidden(self, x):
        return torch.tanh(self.first(x))

    def forward(self, x):
        return self.last(self.hidden(x))


# Values that are read back, and sizes that depend on them.


class Branch(Net):
    def forward(self, x):
        z = self.hidden(x)
        if z.mean().item() > 0:
            z = z * 1.5
        return self.last(z)


class HostTensor(Net):
    def forward(self, x):
        places = torch.arange(HIDDEN).to(x.device)
        return self.last(self.hidden(x) + 0.01 * places)


class MaskedAssignment(Net):
    def forward(self, x):
        z = self.hidden(x)
        out, mask = torch.zeros_like(z), z[:, 0] > 0
        out[mask] = z[mask]
        return self.last(out)


class SparseExperts(Net):
    def setup(self):
        self.gate = nn.Linear(WIDTH, 3)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, HIDDEN) for _ in range(3))

    def hidden(self, x):
        best = self.gate(x).argmax(1)
        z = x.new_zeros(len(x), HIDDEN)
        for i, expert in enumerate(self.experts):
            rows = (best == i).nonzero().squeeze(1)
            z = z.index_copy(0, rows, expert(x[rows]))
        return torch.tanh(z + self.first(x))


class DenseExperts(Net):
    def setup(self):
        self.gate = nn.Linear(WIDTH, 3)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, HIDDEN) for _ in range(3))

    def hidden(self, x):
        weights, best = self.gate(x).softmax(1).topk(2)
        gates = torch.zeros(len(x), 3, device=x.device).scatter(1, best, weights)
        return torch.tanh(sum(gates[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts)))


class Suppression(Net):
    """Non-maximum suppression over the places of a row, in Python."""

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        order = z.detach().mean(0).argsort(descending=True).tolist()
        kept = []
        for i in order:
            if all(abs(i - j) > 1 for j in kept):
                kept.append(i)
        mask = torch.zeros(HIDDEN, device=x.device)
        mask[kept] = 1.0
        return z * mask


class Unique(Net):
    def hidden(self, x):
        z = torch.tanh(self.first(x))
        groups = (x[:, 0] * 2).round().long().clamp(-3, 3)
        _, which = groups.unique(return_inverse=True)
        return z + 0.1 * F.one_hot(which, HIDDEN)


class DataDependentLoop(Net):
    def hidden(self, x):
        z = torch.tanh(self.first(x))
        steps = 0
        while z.abs().mean() > 0.3 and steps < 5:
            z, steps = z * 0.8, steps + 1
        return z


class Inverse(Net):
    def setup(self):
        self.matrix = nn.Parameter(torch.eye(HIDDEN) + 0.1 * torch.randn(HIDDEN, HIDDEN))

    def hidden(self, x):
        return torch.linalg.solve(self.matrix, torch.tanh(self.first(x)).T).T


class SingularValues(Net):
    def forward(self, x):
        return super().forward(x) / torch.linalg.svd(self.last.weight, full_matrices=False)[1][0]


class CumulativeNorm(Net):
    def setup(self):
        self.norm = nn.BatchNorm1d(HIDDEN, momentum=None)

    def hidden(self, x):
        return torch.tanh(self.norm(self.first(x)))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.last = nn.GRU(4, HIDDEN, batch_first=True), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        lengths = (x[:, :, 0] > -1).sum(1).clamp(min=1)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.shape[1])
        return self.last(output.mean(1))


def rebalanced(model, batch):
    y = batch["targets"]
    weights = len(y) / (CLASSES * torch.bincount(y.cpu(), minlength=CLASSES).clamp(min=1)).float()
    return F.cross_entropy(model(batch["inputs"]), y, weights.to(y.device), reduction="sum"), len(y)


# State that Python keeps.


class Reassigned(Net):
    def setup(self):
        self.register_buffer("mean", torch.zeros(HIDDEN))

    def hidden(self, x):
        z = self.first(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * z.detach().mean(0)
        return torch.tanh(z - self.mean)


class Annealed(Net):
    steps = 0

    def forward(self, x):
        if self.training:
            self.steps += 1
        return super().forward(x) * (1 + math.exp(-self.steps / 50))


class CountingClass(Net):
    seen = 0

    def forward(self, x):
        if self.training:
            type(self).seen += 1
        return super().forward(x)


class CountingGlobal(Net):
    def forward(self, x):
        global total_calls
        total_calls += self.training
        return super().forward(x) * (1.0 if total_calls % 50 else 2.0)


class CoolingObject(Net):
    def forward(self, x):
        if self.training:
            schedule.temperature *= 0.99
        return super().forward(x) / schedule.temperature


class AuxiliaryLosses(Net):
    def setup(self):
        self.losses = []

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        self.losses.append(z.square().mean())
        return z


def with_auxiliary_losses(model, batch):
    model.losses.clear()
    loss = F.cross_entropy(model(batch["inputs"]), batch["targets"], reduction="sum")
    return loss + sum(model.losses), len(batch["targets"])


class Diary(Net):
    """Writes down something every fifty calls."""

    calls = 0

    def setup(self):
        self.notes = []

    def forward(self, x):
        self.calls += self.training
        if self.calls % 50 == 0:
            self.notes.append(self.calls)
        return super().forward(x) * (1 + 0.1 * len(self.notes))


class Printing(Net):
    def forward(self, x):
        if self.training:
            print(end="")
        return super().forward(x)


class KeepsOutput(Net):
    def hidden(self, x):
        self.activations = torch.tanh(self.first(x))
        return self.activations


class CarriedState(Net):
    state = None

    def hidden(self, x):
        z = self.first(x)
        if self.training:
            z = z if self.state is None or len(self.state) != len(z) else z + 0.5 * self.state
            self.state = z.detach().tanh()
        return torch.tanh(z)


class Queue(Net):
    """Keys of earlier batches in a ring whose place Python counts."""

    place = 0

    def setup(self):
        self.register_buffer("keys", torch.zeros(128, HIDDEN))

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        if self.training:
            with torch.no_grad():
                self.keys[self.place : self.place + len(x)] = z.detach()[: 128 - self.place]
            self.place = (self.place + len(x)) % 128
        return z - 0.1 * self.keys.mean(0)


class ReplacedData(Net):
    def forward(self, x):
        self.last.weight.data = self.last.weight.data.clamp(-0.5, 0.5)
        return super().forward(x)


class FromIterator(Net):
    def setup(self):
        self.scales = itertools.cycle([1.0, 0.5, 0.25])

    def forward(self, x):
        return super().forward(x) * (next(self.scales) if self.training else 1.0)


def annealed_objective():
    counter = {"steps": 0}

    def objective(model, batch):
        counter["steps"] += 1
        smoothing = 0.3 * math.exp(-counter["steps"] / 40)
        logits = model(batch["inputs"])
        return F.cross_entropy(logits, batch["targets"], label_smoothing=smoothing, reduction="sum"), len(logits)

    return objective


def closure_objective():
    step = 0

    def objective(model, batch):
        nonlocal step
        step += 1
        logits = model(batch["inputs"])
        return F.cross_entropy(logits, batch["targets"], reduction="sum") * min(1.0, step / 100), len(logits)

    return objective


# Random numbers that the device does not draw.


class StochasticDepth(Net):
    def forward(self, x):
        z = self.hidden(x)
        return self.last(z * 2 if self.training and random.random() > 0.3 else z)


class TeacherForcing(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.last = nn.GRUCell(4, HIDDEN), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        h, guess = x.new_zeros(len(x), HIDDEN), x[:, 0]
        for i in range(x.shape[1]):
            own = self.training and random.random() < 0.5
            h = self.cell(guess if own else x[:, i], h)
            guess = self.last(h)
        return guess


class MixedUp(Net):
    def forward(self, x):
        share = np.random.beta(0.4, 0.4) if self.training else 1.0
        return super().forward(share * x + (1 - share) * x.flip(0))


class HostNoise(Net):
    def hidden(self, x):
        noise = torch.randn(HIDDEN) if self.training else torch.zeros(HIDDEN)
        return torch.tanh(self.first(x)) + 0.1 * noise.to(x.device)


class PinnedNoise(Net):
    def hidden(self, x):
        z = torch.tanh(self.first(x))
        if not self.training:
            return z
        return z + 0.1 * torch.randn(HIDDEN).pin_memory().to(x.device, non_blocking=True)


class OwnDeviceGenerator(Net):
    generator = None

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        if not self.training:
            return z
        if self.generator is None:
            self.generator = torch.Generator(x.device).manual_seed(3)
        return z + 0.1 * torch.randn(z.shape, generator=self.generator, device=x.device)


class OwnNumPyGenerator(Net):
    def setup(self):
        self.noise = np.random.default_rng(3)

    def forward(self, x):
        return super().forward(x) * (1 + 0.1 * float(self.noise.normal()) * self.training)


# Listeners.


class ForwardHook(Net):
    def setup(self):
        self.first.register_forward_hook(lambda module, args, output: output * 1.1)


class BackwardHook(Net):
    def setup(self):
        self.first.register_full_backward_hook(lambda module, before, after: tuple(g and None for g in ()) or None)


class ParameterHook(Net):
    def setup(self):
        self.first.weight.register_hook(lambda gradient: gradient * 0.5)


class OldSpectralNorm(Net):
    def setup(self):
        self.last = nn.utils.spectral_norm(self.last)


# What only computes.


class InPlaceAverage(Net):
    def setup(self):
        self.register_buffer("mean", torch.zeros(HIDDEN))

    def hidden(self, x):
        z = self.first(x)
        if self.training:
            self.mean.mul_(0.9).add_(z.detach().mean(0), alpha=0.1)
        return torch.tanh(z - self.mean)


class Codebook(Net):
    """Vector quantization, whose codes are running means."""

    def setup(self):
        self.register_buffer("codes", torch.randn(12, HIDDEN))

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        nearest = torch.cdist(z.detach(), self.codes).argmin(1)
        if self.training:
            chosen = F.one_hot(nearest, 12).to(z.dtype)
            self.codes.mul_(0.95).add_(chosen.T @ z.detach() / (chosen.sum(0)[:, None] + 1), alpha=0.05)
        return z + (self.codes[nearest] - z).detach()


class Teacher(Net):
    def setup(self):
        self.teacher = nn.Linear(WIDTH, HIDDEN).requires_grad_(False)

    def hidden(self, x):
        if self.training:
            with torch.no_grad():
                for slow, fast in zip(self.teacher.parameters(), self.first.parameters(), strict=True):
                    slow.lerp_(fast, 0.1)
        return torch.tanh(self.first(x)) + torch.tanh(self.teacher(x))


class Dropped(Net):
    def hidden(self, x):
        return F.dropout(torch.tanh(self.first(x)), 0.3, self.training)


class Shuffled(Net):
    def forward(self, x):
        if self.training:
            x = 0.8 * x + 0.2 * x[torch.randperm(len(x), device=x.device)]
        return super().forward(x)


class Gumbel(Net):
    def hidden(self, x):
        return F.gumbel_softmax(self.first(x), tau=0.7, hard=True) if self.training else self.first(x).softmax(1)


class Checkpointed(Net):
    def setup(self):
        self.drop = nn.Dropout(0.3)

    def hidden(self, x):
        return checkpoint(lambda x: self.drop(torch.tanh(self.first(x))), x, use_reentrant=False)


class Fourier(Net):
    def hidden(self, x):
        return torch.tanh(self.first(torch.fft.fft(x).abs() + torch.fft.ifft(x).real))


class CachedMask(Net):
    def hidden(self, x):
        return torch.tanh(self.first(x)) * ramp(HIDDEN, x.device)


@functools.cache
def ramp(size, device):
    return torch.linspace(0.5, 1.0, size, device=device)


class ClampedInPlace(Net):
    def forward(self, x):
        with torch.no_grad():
            self.last.weight.clamp_(-0.5, 0.5)
        return super().forward(x)


class LazyLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, HIDDEN), nn.LazyLinear(CLASSES)
        self.last(torch.zeros(1, HIDDEN))

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class WithTensorHook(Net):
    def hidden(self, x):
        z = torch.tanh(self.first(x))
        if z.requires_grad:
            z.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
        return z


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < 1)


class StraightThrough(Net):
    def hidden(self, x):
        return Sign.apply(self.first(x))


class ReadsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (2.0 if gradient.norm().item() < 1e6 else 0.0)


class BranchInBackward(Net):
    def hidden(self, x):
        return ReadsInBackward.apply(torch.tanh(self.first(x)))


class SparseAdjacency(Net):
    def setup(self):
        place = torch.arange(HIDDEN)
        edges = torch.stack([place, (place + 1) % HIDDEN])
        graph = torch.sparse_coo_tensor(edges, torch.ones(HIDDEN), (HIDDEN, HIDDEN)).coalesce()
        self.register_buffer("edges", graph, persistent=False)

    def hidden(self, x):
        return torch.tanh(torch.sparse.mm(self.edges, self.first(x).T).T)


class PerExample(Net):
    """A matrix for each example, by torch.func."""

    def hidden(self, x):
        return torch.func.vmap(lambda row: torch.tanh(self.first.weight @ row + self.first.bias))(x)


class InputGradient(Net):
    """Its hidden layer is the derivative of another with respect to the inputs."""

    def forward(self, x):
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            z = self.hidden(x)
            (slope,) = torch.autograd.grad(z.square().sum(), x, create_graph=True)
        return self.last(z) + slope[:, :CLASSES]


def gradient_penalty(model, batch):
    x = batch["inputs"].detach().requires_grad_()
    with torch.enable_grad():
        logits = model(x)
        (slope,) = torch.autograd.grad(logits.sum(), x, create_graph=True)
    loss = F.cross_entropy(logits, batch["targets"], reduction="sum")
    return loss + 0.1 * slope.square().sum(), len(x)


class Kernel(Net):
    """A Triton kernel of the user's, with a backward pass of its own."""

    def hidden(self, x):
        return _Doubled.apply(torch.tanh(self.first(x)))


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return _double(x.contiguous())

    @staticmethod
    def backward(ctx, gradient):
        return _double(gradient.contiguous())


def _double(x):
    import triton

    out = torch.empty_like(x)
    _doubling()[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), 256)
    return out


@functools.cache
def _doubling():
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, out, count, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)

    return kernel


# Models of other packages.


class Pictures(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)


def torchvision_resnet():
    from torchvision.models import resnet18

    return resnet18(num_classes=CLASSES)


def timm_vit():
    import timm

    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 2}
    return timm.create_model("vit_tiny_patch16_224", num_classes=CLASSES, **sizes)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        self.model = BertForSequenceClassification(BertConfig(vocab_size=50, num_labels=CLASSES, **sizes))

    def forward(self, tokens):
        return self.model(tokens, attention_mask=tokens > 3).logits


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import LlamaConfig, LlamaForSequenceClassification

        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        self.model = LlamaForSequenceClassification(
            LlamaConfig(vocab_size=50, num_labels=CLASSES, pad_token_id=0, **sizes)
        )

    def forward(self, tokens):
        return self.model.model(tokens).last_hidden_state[:, -1] @ self.model.score.weight.T


class GraphConvolution(Net):
    def setup(self):
        from torch_geometric.nn import GraphConv

        place = torch.arange(HIDDEN)
        self.register_buffer("edges", torch.stack([place, (place + 1) % HIDDEN]))
        self.graph = GraphConv(1, 1, aggr="mean")

    def hidden(self, x):
        z = torch.tanh(self.first(x))
        return z + self.graph(z[..., None], self.edges)[..., 0]


class Padded(nn.Module):
    """torch.nn's encoder with a padding mask."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 16, dropout=0.1, batch_first=True)
        self.encoder, self.last = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.last(self.encoder(x, src_key_padding_mask=x[:, :, 0] < -2).mean(1))


READS = r"custom_modules\.py:\d+ reads a value back: "
SEQUENCES = {"inputs": (6, 4)}

CASES: dict[str, Case] = {
    "branch on a value": Case(Branch, reason=READS + r"z\.mean\(\)\.item\(\)"),
    "tensor of the host": Case(HostTensor, reason=r"copies from the host: torch\.arange\(HIDDEN\)\.to\(x\.device\)"),
    "masked assignment": Case(MaskedAssignment, reason=READS),
    "sparse experts": Case(SparseExperts, reason=READS),
    "suppression": Case(Suppression, reason=READS),
    "unique": Case(Unique, reason=READS),
    "data-dependent loop": Case(DataDependentLoop, reason=READS),
    "inverse": Case(Inverse, reason=READS),
    "singular values": Case(SingularValues, reason=READS),
    "cumulative batch norm": Case(CumulativeNorm, reason=r"reads a value back"),
    "packed sequences": Case(Packed, reason=READS, **SEQUENCES),
    "weights of classes": Case(Net, objective=lambda: rebalanced, reason=READS + r"y\.cpu\(\)"),
    "reassigned buffer": Case(Reassigned, reason=r"custom_modules\.py:\d+ replaces the tensor Reassigned\.mean"),
    "annealed module": Case(Annealed, reason=r"changes Annealed\.steps from 1 to 2"),
    "counting class": Case(CountingClass, reason=r"changes CountingClass\.seen"),
    "counting global": Case(CountingGlobal, reason=r"changes the global total_calls"),
    "cooling object": Case(CoolingObject, reason=r"temperature"),
    "auxiliary losses": Case(
        AuxiliaryLosses, objective=lambda: with_auxiliary_losses, reason=r"AuxiliaryLosses\.losses"
    ),
    "notes every 50 calls": Case(Diary, reason=r"changes Diary\.calls"),
    "printing": Case(Printing, reason=r"prints"),
    "keeps its output": Case(KeepsOutput, reason=r"KeepsOutput\.activations"),
    "carried state": Case(CarriedState, reason=r"CarriedState\.state"),
    "queue": Case(Queue, reason=r"changes Queue\.place"),
    "replaced data": Case(ReplacedData, reason=r"replaces the tensor"),
    "iterator": Case(FromIterator, reason=r"scales is a cycle"),
    "annealed objective": Case(Net, objective=annealed_objective, reason=r"counter"),
    "objective with a closure": Case(Net, objective=closure_objective, reason=r"step"),
    "stochastic depth": Case(StochasticDepth, reason=r"draws from Python's random numbers"),
    "teacher forcing": Case(TeacherForcing, reason=r"draws from Python's random numbers", **SEQUENCES),
    "mixup by NumPy": Case(MixedUp, reason=r"draws from NumPy's random numbers"),
    "noise of the host": Case(HostNoise, reason=r"copies from the host|draws from PyTorch's"),
    "pinned noise": Case(PinnedNoise, reason=r"draws from PyTorch's random numbers on the CPU"),
    "generator on the device": Case(OwnDeviceGenerator, reason=r"draws from the generator"),
    "generator of NumPy": Case(OwnNumPyGenerator, reason=r"draws from the generator OwnNumPyGenerator\.noise"),
    "forward hook": Case(ForwardHook, reason=r"there is a hook on first"),
    "backward hook": Case(BackwardHook, reason=r"there is a hook on first"),
    "parameter hook": Case(ParameterHook, reason=r"there is a hook on gradients"),
    "old spectral norm": Case(OldSpectralNorm, reason=r"there is a hook on last"),
    "backward that reads": Case(BranchInBackward, reason=READS),
    "sparse adjacency": Case(SparseAdjacency, mode="", reason=""),
    "plain": Case(Net, mode="graph"),
    "average in place": Case(InPlaceAverage, mode="graph"),
    "dense experts": Case(DenseExperts, mode="graph"),
    "codebook": Case(Codebook, mode="graph"),
    "teacher in place": Case(Teacher, mode="graph"),
    "dropout": Case(Dropped, mode="graph"),
    "shuffled on the device": Case(Shuffled, mode=""),
    "gumbel": Case(Gumbel, mode="graph"),
    "checkpointed": Case(Checkpointed, mode=""),
    "fourier": Case(Fourier, mode="graph"),
    "cached mask": Case(CachedMask, mode="graph"),
    "clamped in place": Case(ClampedInPlace, mode="graph"),
    "lazy layers": Case(LazyLayers, mode="graph"),
    "hook on a tensor": Case(WithTensorHook, mode="graph"),
    "straight-through": Case(StraightThrough, mode="graph"),
    "vmap": Case(PerExample, mode=""),
    "gradient in forward": Case(InputGradient, mode="graph"),
    "gradient penalty": Case(Net, objective=lambda: gradient_penalty, mode="graph"),
    "Triton kernel": Case(Kernel, mode="graph"),
    "weight norm": Case(lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(WIDTH, CLASSES))), mode="graph"),
    "spectral norm": Case(
        lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(WIDTH, CLASSES))), mode="graph"
    ),
    "padding mask": Case(Padded, mode="", **SEQUENCES),
    "torchvision": Case(torchvision_resnet, mode="graph", inputs=(3, 32, 32)),
    "timm": Case(timm_vit, mode="", inputs=(3, 32, 32)),
    "BERT": Case(Bert, mode="", inputs=(12,), tokens=True),
    "Llama": Case(Llama, mode="", inputs=(12,), tokens=True),
    "torch_geometric": Case(GraphConvolution, mode=""),
}
"""A mode of "" is whatever the step proves to be: both are right."""
