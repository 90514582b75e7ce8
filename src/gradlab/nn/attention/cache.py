"""What attention keeps of earlier positions: keys and values, in a list that grows or in room that was taken once."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.sizes import at_least
from gradlab.nn.steps import At


class KeyValueCache:
    """The keys and values of one attention, of all positions so far; gradients pass through it."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in new ones, and give all there are."""
        if self.keys is None or self.values is None:
            self.keys, self.values = keys, values
        else:
            self.keys, self.values = torch.cat([self.keys, keys], -2), torch.cat([self.values, values], -2)
        return self.keys, self.values


class LayerCache:
    """The same for decoding: room that is taken once, into which new positions are written.

    What `append` gives are views: nothing is copied but what is new.
    """

    def __init__(self, max_length: int) -> None:
        at_least(1, "LayerCache", max_length=max_length)
        self.max_length, self.length = max_length, 0
        # Made when the first keys show their shape, dtype and device.
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(
        self, keys: Float[Tensor, "batch *heads n key_dim"], values: Float[Tensor, "batch *heads n value_dim"]
    ) -> tuple[Float[Tensor, "batch *heads m key_dim"], Float[Tensor, "batch *heads m value_dim"]]:
        """Write new ones behind those there are, and give all of them."""
        if self._keys is None or self._values is None:
            self._keys, self._values = self._room_like(keys), self._room_like(values)
        if keys.shape[0] != self._keys.shape[0]:
            raise GradlabError(f"A cache of {len(self._keys)} rows got keys of {len(keys)}.")
        start, new = self.length, keys.shape[-2]
        self.length = start + new
        if self.length > self.max_length:
            self.length = start
            raise GradlabError(f"A cache for {self.max_length} positions has no room for {start + new}.")
        self._keys.narrow(-2, start, new).copy_(keys)
        self._values.narrow(-2, start, new).copy_(values)
        return self._keys.narrow(-2, 0, self.length), self._values.narrow(-2, 0, self.length)

    @property
    def rooms(self) -> tuple[Float[Tensor, "batch *heads room key_dim"], Float[Tensor, "batch *heads room value_dim"]]:
        """All the memory for keys and values; what is behind `length` means nothing."""
        if self._keys is None or self._values is None:
            raise GradlabError("A cache that has read nothing has no room yet.")
        return self._keys, self._values

    def put(self, keys: Tensor, values: Tensor, at: At) -> tuple[Tensor, Tensor]:
        """Write one position where the device says, and give all the room, of each row its own."""
        rooms = self.rooms
        for room, new in zip(rooms, (keys, values), strict=True):
            room.index_copy_(-2, at.place, new)
        return rooms if at.owners is None else (shared(rooms[0], at.owners), shared(rooms[1], at.owners))

    def gather(self, owners: Int[Tensor, "batch room"]) -> None:
        """Each row gets a copy of what lies in the rooms of others."""
        for room in self.rooms:
            room.copy_(shared(room, owners))

    def moved(self) -> None:
        """A step was replayed, which has written one more."""
        self.length += 1

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was. There may be more of them than before, or fewer."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._taken(self._keys, rows), self._taken(self._values, rows)

    def truncate(self, length: int) -> None:
        """Forget what is behind the first so many positions."""
        self.length = min(self.length, max(0, length))

    def _room_like(self, first: Tensor) -> Tensor:
        # Zeroed to touch it from end to end: pages that come as they are written lie apart, and are read more slowly.
        # Whoever looks at all of it, and hides what was not written, needs numbers there too.
        return first.new_empty(*first.shape[:-2], self.max_length, first.shape[-1]).zero_()

    def _taken(self, room: Tensor, rows: Tensor) -> Tensor:
        """Only what is written is copied, into the same room where the number of rows stays."""
        kept = room.narrow(-2, 0, self.length).index_select(0, rows)
        room = room if len(rows) == len(room) else room.new_zeros(len(rows), *room.shape[1:])
        room.narrow(-2, 0, self.length).copy_(kept)
        return room


class MemoryCache:
    """The keys and values of a memory that stays as it is, such as an encoder's result: projected once, when first
    looked at, with the mask of its padding. What later calls are given in their place is not looked at."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, Tensor, Tensor | None] | None = None

    @property
    def length(self) -> int:
        return 0 if self.kept is None else self.kept[0].shape[-2]

    def keep(
        self,
        keys: Float[Tensor, "batch *heads m key_dim"],
        values: Float[Tensor, "batch *heads m value_dim"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    ) -> None:
        """Take in all there are, for every query to come."""
        if mask is not None and mask.ndim > 1 and mask.shape[-2] != 1:
            raise GradlabError(f"The mask of a memory is the same for every query, got one for {mask.shape[-2]}.")
        self.kept = keys, values, mask

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was. There may be more of them than before, or fewer."""
        if self.kept is not None:
            keys, values, mask = self.kept
            many = mask is not None and mask.ndim > 2 and len(mask) > 1
            mask = mask.index_select(0, rows) if many and mask is not None else mask
            self.kept = keys.index_select(0, rows), values.index_select(0, rows), mask


def shared(room: Float[Tensor, "batch heads room dim"], owners: Int[Tensor, "batch room"]) -> Tensor:
    """Keys or values of each row, from the rooms in which they lie."""
    return room.transpose(1, 2)[owners, torch.arange(room.shape[2], device=room.device)].transpose(1, 2)


class StaticCache:
    """The keys and values of every attention of a model, for texts of at most `max_length` tokens.

    Layer i is given `cache[i]`. Writing in place is for decoding: no gradient can pass through it.

    >>> from gradlab.nn.transformer import DecoderLayer
    >>> layers, x = [DecoderLayer(8, num_heads=2) for _ in range(3)], torch.randn(2, 5, 8)
    >>> cache = StaticCache(num_layers=3, max_length=10)
    >>> with torch.no_grad():
    ...     for i, layer in enumerate(layers):
    ...         x = layer(x, cache=cache[i])
    >>> cache.length
    5
    """

    def __init__(self, num_layers: int, max_length: int) -> None:
        at_least(1, "StaticCache", num_layers=num_layers, max_length=max_length)
        self.layers: list[LayerCache | StateCache] = [LayerCache(max_length) for _ in range(num_layers)]

    def __getitem__(self, layer: int) -> LayerCache | StateCache:
        return self.layers[layer]

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def length(self) -> int:
        """How many positions every layer has seen."""
        return self.layers[-1].length

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was. There may be more of them than before, or fewer."""
        self._each("reorder", rows)

    def truncate(self, length: int) -> None:
        """Forget what is behind the first so many positions."""
        self._each("truncate", length)

    def _each(self, method: str, argument: Any) -> None:
        for layer in self.layers:
            getattr(layer, method)(argument)
