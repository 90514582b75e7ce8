"""Decoding: a transformer's forward pass for a few new tokens, of the steps that its blocks have for it.

One token is so little work that calling modules, and checking shapes that cannot have changed, would take longer.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from gradlab.nn.attention.cache import LayerCache, StaticCache
from gradlab.nn.plain import bare, is_itself, is_plain
from gradlab.nn.position import LearnedPosition
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.steps import At, Step, added, affine, normed
from gradlab.nn.transformer import DecoderLayer

if TYPE_CHECKING:
    from gradlab.models.language.transformer import TransformerLanguageModel


class DecodingCache(StaticCache):
    """A cache that reads by itself what the model would read with it, faster.

    It is for a model in evaluation mode, as it is when the cache is made; weights are shared, and no gradient passes.
    What is not exactly a class known here, or has a hook in it, is called as it is.

    After `hold`, a token of each row, or a few, can be read by `step` too, whose operations are the same each time:
    their positions lie on the device.
    """

    def __init__(self, model: "TransformerLanguageModel", batch: int, max_length: int):
        from gradlab.models.language.transformer import TransformerLanguageModel

        layers = list(model.layers)
        super().__init__(len(layers), max_length)
        self.layers = [_new_cache(layer, batch, max_length) for layer in layers]
        self._model, self.max_length = model, max_length
        self._by_itself = _is_itself(model, TransformerLanguageModel)
        self._embed, self._norm = bare(model.embedding), normed(model.norm)
        self._head = affine(model.output_weight, None)
        self._position: Callable[..., Tensor] | None = None if model.position is None else bare(model.position)
        self._layers = [_step(layer, cache) for layer, cache in zip(layers, self.layers, strict=True)]
        self._at: At | None = None

    @torch.inference_mode()
    def read(self, tokens: Int64[Tensor, "batch new"], last: int) -> Float[Tensor, "batch last vocabulary"]:
        """The logits behind the last so many of the new tokens."""
        if self._at is not None:
            self._settle(len(tokens))
        if not self._by_itself:
            logits: Tensor = self._model(tokens, cache=self)
        else:
            logits = self._read(tokens, self.length, last, None)
        if self._at is not None:
            self._aim()
        return logits[:, -last:]

    def _read(self, tokens: Tensor, start: int | Tensor, last: int, at: At | None) -> Tensor:
        x, delta = self._embed(tokens), None
        if at is not None and isinstance(self._model.position, LearnedPosition):
            # The sum is left open here too: the first layer adds.
            delta = F.embedding(at.place, self._model.position.weight).expand_as(x).contiguous()
        elif self._position is not None:
            x = self._position(x, start)
        for layer in self._layers:
            x, delta = layer(x, delta, at)
        if last < x.shape[1]:
            x, delta = x[:, -last:], None if delta is None else delta[:, -last:]
        return self._head(self._norm(x, delta, at), at)

    @property
    def can_step(self) -> bool:
        """Whether every part is known to do the same on each call, so that a device may replay what it did once."""
        parts = [self._model.embedding, self._model.norm]
        if self._model.position is not None:
            parts.append(self._model.position)
        known = all(_is_known(layer) and layer.attention.of_modules for layer in self._model.layers)  # type: ignore[union-attr]
        return self._by_itself and known and all(map(is_plain, parts)) and not torch.is_autocast_enabled("cuda")

    @property
    def can_go_back(self) -> bool:
        """Whether what a step has read can be unread by the device."""
        return self.can_step and all(isinstance(layer, LayerCache) for layer in self.layers)

    def hold(self, *, reordered: bool, new: int = 1) -> list[Tensor]:
        """Keep all memory where it is from now on, for as many rows; `reordered` if they will change places.

        A step reads `new` tokens of each. Given back is what it changes for good.
        """
        rows, device = self._rows(), self._model.embedding.weight.device
        place = torch.empty(new, dtype=torch.int64, device=device)
        owners = torch.arange(rows, device=device)[:, None].repeat(1, self.max_length) if reordered else None
        self._at = At(place, owners)
        self._aim()
        return [place, *(part for layer in self.layers if isinstance(layer, StateCache) for part in layer.hold())]

    @torch.inference_mode()
    def step(self, tokens: Int64[Tensor, "batch new"]) -> Float[Tensor, "batch new vocabulary"]:
        """The logits behind more tokens of each row. The host counts one by `moved`."""
        assert self._at is not None
        if self._at.owners is not None:
            own = torch.arange(len(tokens), device=tokens.device)[:, None]
            self._at.owners.index_copy_(1, self._at.place, own)
        new = tokens.shape[1]
        logits = self._read(tokens, self._at.place, new, self._at)
        self._at.place.add_(new)
        return logits

    def go_back(self, length: Int64[Tensor, "1"]) -> None:
        """Let the device unread what came after the first so many tokens."""
        assert self._at is not None
        self._at.place.copy_(length + torch.arange(len(self._at.place), device=length.device))

    def moved(self) -> None:
        """A step was done or replayed."""
        for layer in self.layers:
            layer.moved()

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        owners = None if self._at is None else self._at.owners
        if owners is not None:
            owners.copy_(owners.index_select(0, rows))
        for layer in self.layers:
            if owners is None or isinstance(layer, StateCache):
                layer.reorder(rows)

    def truncate(self, length: int) -> None:
        super().truncate(length)
        self._aim()

    def _aim(self) -> None:
        """Write the position of the next token on the device."""
        if self._at is not None:
            torch.arange(self.length, self.length + len(self._at.place), out=self._at.place)

    def _settle(self, rows: int) -> None:
        """Give each row its own keys again."""
        if self._at is not None and self._at.owners is not None:
            for layer in self.layers:
                if isinstance(layer, LayerCache):
                    layer.gather(self._at.owners)
            self._at.owners.copy_(torch.arange(rows, device=self._at.owners.device)[:, None])

    def _rows(self) -> int:
        layer = self.layers[0]
        return len(layer.rooms[0] if isinstance(layer, LayerCache) else layer.state[0])


def _is_itself(model: nn.Module, kind: "type[TransformerLanguageModel]") -> bool:
    return is_itself(model, kind.forward) and is_plain(model.dropout)  # type: ignore[arg-type]


def _is_known(layer: nn.Module) -> bool:
    own_steps = all(hasattr(getattr(layer, part, None), "decoding") for part in ("attention", "mlp"))
    return type(layer) is DecoderLayer and not layer.cross and own_steps and is_plain(layer)


def _new_cache(layer: nn.Module, batch: int, max_length: int) -> LayerCache | StateCache:
    return layer.new_cache(batch, max_length) if isinstance(layer, DecoderLayer) else LayerCache(max_length)


def _step(layer: nn.Module, cache: LayerCache | StateCache) -> Step:
    if isinstance(layer, DecoderLayer) and _is_known(layer):
        return layer.decoding(cache)
    return partial(_called, layer, cache)


def _called(
    layer: nn.Module, cache: LayerCache | StateCache, x: Tensor, delta: Tensor | None, at: At | None
) -> tuple[Tensor, None]:
    return layer(added(x, delta), cache=cache), None
