"""What is known of objects of the user's, without keeping them: a model that is dropped is gone, watched or not."""

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

Fact = TypeVar("Fact")


class Known(Generic[Fact]):
    """A fact for each object, by identity, as long as the object lives."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[weakref.ref[Any], Fact]] = {}

    def get(self, thing: object) -> Fact | None:
        entry = self._facts.get(id(thing))
        return None if entry is None else entry[1]

    def __setitem__(self, thing: object, fact: Fact) -> None:
        key, facts = id(thing), self._facts
        # It goes with the object, before another can have its identity.
        facts[key] = weakref.ref(thing, lambda _: facts.pop(key, None)), fact

    def __contains__(self, thing: object) -> bool:
        return id(thing) in self._facts

    def __len__(self) -> int:
        return len(self._facts)

    def pop(self, thing: object) -> None:
        self._facts.pop(id(thing), None)

    def facts(self) -> Iterator[Fact]:
        return (fact for _, fact in list(self._facts.values()))


class Stored(Generic[Fact]):
    """A fact for each storage, which views of a tensor share; that of memory which was freed is not met again."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[StorageWeakRef, Fact]] = {}

    def get(self, tensor: Tensor) -> Fact | None:
        entry = self._facts.get(tensor.untyped_storage()._cdata)
        return None if entry is None else entry[1]

    def __setitem__(self, tensor: Tensor, fact: Fact) -> None:
        storage = tensor.untyped_storage()
        # While the weak reference is held, no other storage can have its address.
        self._facts[storage._cdata] = StorageWeakRef(storage), fact  # type: ignore[no-untyped-call]

    def clear(self) -> None:
        self._facts.clear()
