"""A transformer learns to copy sequences of different lengths: `gradlab train examples/copying.py`.

Padding is no target, so that a loss is the sum over all tokens that are there, beside their count: a tensor, since it
depends on values. Weights are judged by what the model writes of its own accord: the share of exact copies.
"""

from typing import Annotated

import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad

import gradlab as gl
from gradlab import specs
from gradlab.nn import EncoderDecoder, LearnedPosition

PAD, START, END, FIRST = 0, 1, 2, 3  # tokens that mean something, and the first of those to be copied


@gl.register.dataset("sequences")
def sequences(
    seed: int,
    *,
    examples: Annotated[int, "sequences to learn from"] = 8192,
    longest: Annotated[int, "tokens at most"] = 8,
    symbols: Annotated[int, "different tokens"] = 10,
):
    draw = torch.Generator().manual_seed(seed)

    def some(count):
        tokens = torch.randint(FIRST, FIRST + symbols, [count, longest + 1], generator=draw)
        left = torch.randint(1, longest + 1, [count, 1], generator=draw) - torch.arange(longest + 1)
        return gl.Examples.by_name({"tokens": tokens.where(left > 0, PAD).where(left != 0, END)})

    return gl.Dataset.of(some(examples), some(200), some(500), spec=specs.Tokens(longest + 1, FIRST + symbols))


@gl.register.model("copier")
class Copier(nn.Module):
    def __init__(self, inputs: specs.Tokens, outputs: int, *, dim: Annotated[int, "features of a token"] = 32):
        super().__init__()
        self.embed = nn.Sequential(nn.Embedding(inputs.vocabulary, dim), LearnedPosition(inputs.context, dim))
        self.transformer = EncoderDecoder(dim, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)
        self.out = nn.Linear(dim, inputs.vocabulary)

    def forward(self, source, target):
        """The logits of each token of the target, given the source and the tokens before it."""
        before = pad(target[:, :-1], (1, 0), value=START)
        return self.out(self.transformer(self.embed(source), self.embed(before), source != PAD))

    def write(self, source):
        """Again and again the token that is the most likely after those written."""
        written = torch.zeros_like(source)
        for place in range(source.shape[1]):
            written[:, place] = self(source, written)[:, place].argmax(dim=1)
        return written


@gl.register.task("copying")
class Copying(gl.Task):
    criterion = gl.Criterion("exact", higher_is_better=True)

    def __init__(self, targets):
        self.batch_metrics = {"exact": self.exact}

    def objectives(self):
        return {"loss": gl.Objective(loss=self.loss)}

    def loss(self, model, batch):
        tokens = batch["tokens"]
        return cross_entropy(model(tokens, tokens).mT, tokens, ignore_index=PAD, reduction="sum"), (tokens != PAD).sum()

    def exact(self, model, batch):
        """For each sequence, whether all of it is right, its end included."""
        return ((model.write(batch["tokens"]) == batch["tokens"]) | (batch["tokens"] == PAD)).all(dim=1)


@gl.register.recipe
def copying():
    return gl.Recipe("copying", "sequences", "copier", "copying", {"epochs": 4, "batch_size": 64, "lr": 3e-3})
