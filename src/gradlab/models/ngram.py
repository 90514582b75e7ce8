"""Language models by counting: unigrams, bigrams, trigrams and longer, with Laplace smoothing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from annotated_types import Ge, Le
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn
from torch.nn.functional import pad

from gradlab.errors import GradlabError
from gradlab.maths.language import smoothed
from gradlab.models.ngram_counts import context_counts, token_counts
from gradlab.models.registry import models
from gradlab.registry import NonNegative
from gradlab.specs import Tokens

_LONGEST = 8


class NGram(nn.Module):
    r"""The next token by how often it followed the last n − 1 ones, smoothed by how often it followed fewer.

    $$ \hat P(x) = \frac{n(x) + \varepsilon_1 / m}{n + \varepsilon_1}, \qquad
       \hat P(x \mid c) = \frac{n(c, x) + \varepsilon_{|c|+1} \, \hat P(x \mid c')}{n(c) + \varepsilon_{|c|+1}} $$

    m is `vocabulary`; c′ is the context c without its oldest token; n(c) is how often c was *followed* by a token: if
    the end of the text counted too, the probabilities would not sum to one. A context that was not seen leaves
    P̂(x | c′) as it is, also with ε = 0, where the formula says nothing.

    Called on token numbers it gives, for each place, the log-probabilities of the token that comes next, by the up to
    n − 1 tokens up to there: logits as good as any. It has no parameters: `fit` counts, and the counts are its state.

    FLOPs: O(n·m) for each token
    Memory: 3 numbers for each different n-gram

    >>> model = NGram(vocabulary=3, order=2, smoothing=1.0).fit(torch.tensor([0, 1, 0, 1, 0, 2]))
    >>> model(torch.tensor([[0]])).exp()
    tensor([[[0.1190, 0.5833, 0.2976]]])
    """

    counts: Tensor
    smoothing: Tensor

    def __init__(self, vocabulary: int, order: int = 3, smoothing: float | Sequence[float] = 1.0):
        """`smoothing` is ε for every order, or ε₁ to εₙ."""
        super().__init__()
        if vocabulary < 1 or not 1 <= order <= _LONGEST:
            raise GradlabError(
                f"NGram needs a vocabulary of at least 1 and an order of 1 to {_LONGEST}, "
                f"got vocabulary={vocabulary} and order={order}."
            )
        each = [smoothing] * order if isinstance(smoothing, float | int) else list(smoothing)
        if len(each) != order or not all(0 <= eps < float("inf") for eps in each):
            raise GradlabError(f"NGram needs a smoothing of 0 or more, or {order} such numbers, got {smoothing}.")
        self.vocabulary, self.order = vocabulary, order
        self.register_buffer("smoothing", torch.tensor(each, dtype=torch.get_default_dtype()))
        self.register_buffer("counts", torch.zeros(vocabulary, dtype=torch.int64))
        self.contexts = nn.ModuleList([Contexts(vocabulary) for _ in range(order - 1)])

    def fit(self, tokens: npt.NDArray[Any] | Int[Tensor, " length"]) -> "NGram":
        """Count a text, in place of what was counted before. A mapped file of any size is read once for each order."""
        text = tokens.cpu().numpy() if isinstance(tokens, Tensor) else tokens
        if not len(text):
            raise GradlabError("There is nothing to count: the text has no tokens.")
        self.counts = torch.from_numpy(token_counts(text, self.vocabulary)).to(self.counts.device)
        keys: list[npt.NDArray[np.int64]] = []
        for contexts in self.contexts:
            assert isinstance(contexts, Contexts)
            tables = context_counts(text, self.vocabulary, keys)
            contexts.hold(*(torch.from_numpy(part).to(self.counts.device) for part in tables))
            keys.append(tables.contexts)
        return self

    learning_steps = 1

    def learn_without_gradients(self, train: Any, batch: Any) -> None:
        """One step, which counts all of the training text."""
        self.fit(train.inputs.tokens)

    def forward(
        self, tokens: Int[Tensor, "batch length"], *, cache: "ReadTokens | None" = None
    ) -> Float[Tensor, "batch length {self.vocabulary}"]:
        """Log-probabilities of the token after each place; with a cache, after the tokens that it has read."""
        read = tokens if cache is None else cache.append(tokens)
        old = read.shape[1] - tokens.shape[1]
        history = self._history(read[:, max(0, old - self.order + 1) :])[:, min(old, self.order - 1) :]
        return self._probabilities(history.flatten(0, 1)).log().view(*tokens.shape, self.vocabulary)

    def next_logits(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch {self.vocabulary}"]:
        """Log-probabilities of the token after the last; there may be no tokens yet."""
        recent = tokens[:, max(0, tokens.shape[1] - self.order + 1) :]
        return self._probabilities(pad(recent, (self.order - 1 - recent.shape[1], 0), value=-1).flip(1)).log()

    def new_cache(self, batch: int, max_length: int) -> "ReadTokens":
        """A cache that has read nothing, for `forward` to go on from."""
        return ReadTokens()

    def log_prob(
        self, tokens: Int[Tensor, "batch length"], targets: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length"]:
        """What `forward` has for the target of each place, in a time that does not grow with the vocabulary."""
        target = targets.flatten()
        probability = self._unigrams()[target]
        for contexts, eps, context, seen in self._met(self._history(tokens).flatten(0, 1)):
            total = contexts.totals[context] * seen
            count = contexts.count(context, target) * seen
            probability = smoothed(count, total, eps, probability)
        return probability.log().view(tokens.shape)

    def _probabilities(self, history: Int[Tensor, "places before"]) -> Float[Tensor, "places {self.vocabulary}"]:
        probability = self._unigrams().repeat(len(history), 1)
        for contexts, eps, context, seen in self._met(history):
            total = contexts.totals[context] * seen
            probability *= torch.where(total > 0, eps / (total + eps), 1.0)[:, None]
            place, pair = contexts.following(context, seen)
            # No two are for the same token of the same place, so that they may be added all at once.
            number = place * self.vocabulary + contexts.pairs[pair] % self.vocabulary
            probability.view(-1)[number] += contexts.counts[pair] / (total + eps)[place]
        return probability

    def _unigrams(self) -> Float[Tensor, " {self.vocabulary}"]:
        total, eps = self.counts.sum(), self.smoothing[0]
        uniform = torch.full_like(self.counts, 1 / self.vocabulary, dtype=eps.dtype)
        return smoothed(self.counts, total, eps, uniform)

    def _history(self, tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length before"]:
        """The last n − 1 tokens up to each place, the newest first; −1 where there are none yet."""
        return pad(tokens, (self.order, 0), value=-1).unfold(1, self.order, 1)[:, 1:, 1:].flip(-1)

    def _met(self, history: Int[Tensor, "places before"]) -> "Iterator[tuple[Contexts, Tensor, Tensor, Tensor]]":
        """For contexts of 1, 2, … tokens: the table, its ε, which of them each place has, and whether it was seen."""
        context = torch.zeros(len(history), dtype=torch.int64, device=history.device)
        seen = torch.ones_like(context, dtype=torch.bool)
        for contexts, eps, token in zip(self.contexts, self.smoothing[1:], history.unbind(1), strict=True):
            assert isinstance(contexts, Contexts)
            if not len(contexts.contexts):  # the text was too short to have any of this length
                return
            context, probability = contexts.find(context * self.vocabulary + token)
            seen = seen & probability & (token >= 0)
            yield contexts, eps, context, seen

    def extra_repr(self) -> str:
        return f"{self.vocabulary}, order={self.order}, smoothing={[round(eps, 6) for eps in self.smoothing.tolist()]}"


class ReadTokens:
    """The tokens read so far, of which the last are all that an n-gram model looks at."""

    def __init__(self) -> None:
        self.tokens: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.tokens is None else self.tokens.shape[1]

    def append(self, tokens: Int[Tensor, "batch new"]) -> Int[Tensor, "batch length"]:
        """All tokens, with these."""
        self.tokens = tokens if self.tokens is None else torch.cat([self.tokens, tokens], dim=1)
        return self.tokens

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was."""
        self.tokens = None if self.tokens is None else self.tokens.index_select(0, rows)

    def truncate(self, length: int) -> None:
        """Forget what came after the first so many tokens."""
        self.tokens = None if self.tokens is None else self.tokens[:, :length]


class Contexts(nn.Module):
    """The contexts of one length, and what follows them; see `ngram_counts` for the keys."""

    contexts: Tensor
    pairs: Tensor
    counts: Tensor
    starts: Tensor
    totals: Tensor

    def __init__(self, vocabulary: int):
        super().__init__()
        self.vocabulary = vocabulary
        for name in ("contexts", "pairs", "counts"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.int64))
        for name in ("starts", "totals"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.int64), persistent=False)

    def hold(
        self, contexts: Int64[Tensor, " contexts"], pairs: Int64[Tensor, " pairs"], counts: Int64[Tensor, " pairs"]
    ) -> None:
        """Take these tables, and note for each context where what follows it begins, and how often it was followed."""
        self.contexts, self.pairs, self.counts = contexts, pairs, counts
        numbers = torch.arange(len(contexts) + 1, device=contexts.device)
        self.starts = torch.searchsorted(pairs, numbers * self.vocabulary)
        self.totals = pad(counts.cumsum(0), (1, 0))[self.starts].diff()

    def find(self, keys: Int64[Tensor, " places"]) -> tuple[Int64[Tensor, " places"], Bool[Tensor, " places"]]:
        """The number of each context, and whether it is there at all."""
        return _find(self.contexts, keys)

    def count(self, context: Int64[Tensor, " places"], token: Int[Tensor, " places"]) -> Int64[Tensor, " places"]:
        """How often the token followed the context."""
        pair, there = _find(self.pairs, context * self.vocabulary + token)
        return self.counts[pair] * there

    def following(
        self, context: Int64[Tensor, " places"], seen: Bool[Tensor, " places"]
    ) -> tuple[Int64[Tensor, " pairs"], Int64[Tensor, " pairs"]]:
        """The pairs of all seen contexts in a row, and which place each is for."""
        first = self.starts[context]
        sizes = (self.starts[context + 1] - first) * seen
        place = torch.repeat_interleave(sizes)
        before = sizes.cumsum(0) - sizes
        return place, torch.arange(len(place), device=place.device) + (first - before)[place]

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """Tables are taken as long as they are saved: how long is known only after counting."""
        for name in ("contexts", "pairs", "counts"):
            if (saved := state_dict.get(prefix + name)) is not None:
                setattr(self, name, torch.zeros_like(saved, dtype=torch.int64, device=self.counts.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.hold(self.contexts, self.pairs, self.counts)


def _find(
    among: Int64[Tensor, " sorted"], keys: Int64[Tensor, " places"]
) -> tuple[Int64[Tensor, " places"], Bool[Tensor, " places"]]:
    place = torch.searchsorted(among, keys).clamp_(max=len(among) - 1)
    return place, among[place] == keys


@models.register("ngram")
def ngram(
    inputs: Tokens,
    outputs: int,
    *,
    order: Annotated[int, Ge(1), Le(_LONGEST), "tokens that are counted together: 1 for unigrams, 3 for trigrams"] = 3,
    smoothing: Annotated[NonNegative, "ε, how much the shorter context counts beside what was seen"] = 1.0,
) -> nn.Module:
    """Counted n-grams with interpolated Laplace smoothing; training it is one step, which counts."""
    return NGram(inputs.vocabulary, order, smoothing)
