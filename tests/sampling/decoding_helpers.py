"""Small models to decode, and slow searches in plain Python that judge the fast ones."""

import itertools
import math

import numpy as np
import torch
from torch import nn

from gradlab.nn import GRU
from gradlab.nn.attention import LinearAttention
from gradlab.nn.attention.cache import StaticCache
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.transformer import DecoderLayer


class ByPrefix:
    """A model whose logits are random numbers of their own for every text: nothing but the whole text tells them."""

    def __init__(self, vocabulary, seed=0, scale=1.5):
        self.vocabulary, self.seed, self.scale = vocabulary, seed, scale
        self.table = {}

    def logits(self, text):
        if text not in self.table:
            drawn = np.random.default_rng([self.seed, *text]).normal(size=self.vocabulary)
            self.table[text] = torch.from_numpy(drawn) * self.scale
        return self.table[text]

    def log_p(self, text):
        return self.logits(tuple(text)).log_softmax(-1).tolist()

    def __call__(self, tokens):
        rows = tokens.tolist()
        return torch.stack([torch.stack([self.logits(tuple(row[: i + 1])) for i in range(len(row))]) for row in rows])


class TinyGPT(nn.Module):
    def __init__(self, vocabulary=11, dim=16, layers=2, positions=64, dropout=0.0):
        super().__init__()
        self.embedding, self.position = nn.Embedding(vocabulary, dim), nn.Embedding(positions, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, 2, dropout=dropout) for _ in range(layers))
        self.head = nn.Linear(dim, vocabulary)
        nn.init.normal_(self.head.weight, std=0.7)

    def new_cache(self, batch, max_length):
        return StaticCache(len(self.layers), max_length)

    def forward(self, tokens, *, cache=None):
        start = 0 if cache is None else cache.length
        x = self.embedding(tokens) + self.position(torch.arange(start, start + tokens.shape[1], device=tokens.device))
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if cache is None else cache[i])
        return self.head(x)


class TinyGRU(nn.Module):
    def __init__(self, vocabulary=11, dim=16):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, dim), nn.Linear(dim, vocabulary)
        self.gru = GRU(dim, dim, num_layers=2, batch_first=True)
        nn.init.normal_(self.head.weight, std=2.0)

    def new_cache(self, batch, max_length):
        return StateCache(batch_axis=1)

    def forward(self, tokens, *, cache=None):
        outputs, state = self.gru(self.embedding(tokens), None if cache is None else cache.state)
        if cache is not None:
            cache.update(state, tokens.shape[1])
        return self.head(outputs)


class TinyLinear(nn.Module):
    """One layer of linear attention, whose state are sums."""

    def __init__(self, vocabulary=11, dim=16):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, dim), nn.Linear(dim, vocabulary)
        self.mix, self.attention = nn.Linear(dim, 3 * dim), LinearAttention()
        nn.init.normal_(self.head.weight, std=2.0)

    def new_cache(self, batch, max_length):
        return StateCache()

    def forward(self, tokens, *, cache=None):
        x = self.embedding(tokens)
        q, k, v = self.mix(x).chunk(3, -1)
        if cache is None:
            return self.head(x + self.attention(q, k, v, is_causal=True))
        outputs, state = [], cache.state
        for i in range(tokens.shape[1]):
            output, state = self.attention.step(q[:, i], k[:, i], v[:, i], state)
            outputs.append(output)
        cache.update(state, tokens.shape[1])
        return self.head(x + torch.stack(outputs, 1))


MODELS = {"gpt": TinyGPT, "gru": TinyGRU, "linear": TinyLinear}


def without_cache(model):
    return lambda tokens: model(tokens)


def all_texts(vocabulary, longest, eos=()):
    """Every text that can be written in so many tokens: it ends with its first end token, or at full length."""
    for length in range(1, longest + 1):
        for text in itertools.product(range(vocabulary), repeat=length):
            if not any(token in eos for token in text[:-1]) and (length == longest or text[-1] in eos):
                yield text


def log_probability(model, prompt, text):
    return sum(model.log_p([*prompt, *text[:i]])[token] for i, token in enumerate(text))


def exhaustive(model, prompt, longest, eos=(), alpha=1.0):
    """All texts with their scores, best first."""
    scored = [
        (log_probability(model, prompt, text) / len(text) ** alpha, text)
        for text in all_texts(model.vocabulary, longest, eos)
    ]
    return sorted(scored, reverse=True)


def plain_greedy(model, prompt, longest, eos=()):
    text = []
    while len(text) < longest and not (text and text[-1] in eos):
        log_p = model.log_p([*prompt, *text])
        text.append(max(range(len(log_p)), key=log_p.__getitem__))
    return text


def plain_beam(model, prompt, longest, beam, eos=()):
    """Beam search on lists, as it is told in `Beam`: scores and texts of the n best."""
    each, alpha = beam.size // beam.groups, beam.length_penalty
    capacity = each if beam.finished is None else beam.finished
    running = [[(0.0, [])] for _ in range(beam.groups)]
    kept = [[] for _ in range(beam.groups)]
    done = [False] * beam.groups
    for length in range(1, longest + 1):
        taken = [0] * model.vocabulary
        for g in range(beam.groups):
            candidates = [
                (total + log_p - beam.diversity * taken[token], total + log_p, [*text, token])
                for total, text in running[g]
                for token, log_p in enumerate(model.log_p([*prompt, *text]))
            ]
            candidates.sort(key=lambda c: -c[0])
            ends = [length == longest or text[-1] in eos for _, _, text in candidates]
            if not done[g]:
                new = [(c[1] / length**alpha, c[2]) for c, end in zip(candidates[:each], ends, strict=False) if end]
                kept[g] = sorted([*kept[g], *new], key=lambda h: -h[0])[:capacity]
            running[g] = [c[1:] for c, end in zip(candidates, ends, strict=True) if not end][:each]
            for _, _, text in [c for c in candidates if c[2][-1] not in eos][:each]:
                taken[text[-1]] += 1
        best_of_all = sorted((h for hs in kept for h in hs), key=lambda h: -h[0])
        for g in range(beam.groups):
            best = max((total for total, _ in running[g]), default=-math.inf)
            worst = kept[g][-1][0] if len(kept[g]) == capacity else -math.inf
            wanted = best_of_all[beam.n_best - 1][0] if len(best_of_all) >= beam.n_best else -math.inf
            done[g] |= best == -math.inf
            if beam.stop == "count" or beam.size == 1:
                done[g] |= len(kept[g]) == capacity
            elif beam.stop == "estimate":
                done[g] |= best / length**alpha <= worst
            elif beam.stop == "bound":
                done[g] |= best / (longest if alpha > 0 else length + 1) ** alpha <= wanted
        if all(done):
            break
    return sorted((h for hs in kept for h in hs), key=lambda h: -h[0])[: beam.n_best]
