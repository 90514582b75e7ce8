"""An associative array whose keys are vectors: what attention is a soft version of."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.nn.attention import DotAttention
from gradlab.nn.attention.scores import Attention


class KeyValueStore:
    r"""Values by their keys: exactly, as a dictionary has them, or softly, for queries that are no key.

    $$ \mathrm{lookup}(q) = \sum_i \mathrm{softmax}_i(\langle q, k_i \rangle) \, v_i $$

    >>> store = KeyValueStore()
    >>> store.put([1.0, 0.0], [10.0])
    >>> store.put([0.0, 1.0], [20.0])
    >>> store.get([0.0, 1.0]), store.lookup([0.0, 1.0])
    (tensor([20.], dtype=torch.float64), tensor([17.3106], dtype=torch.float64))
    >>> store.remove([1.0, 0.0])
    >>> len(store), store.lookup([5.0, 5.0]).item()
    (1, 20.0)
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[float, ...], tuple[Tensor, Tensor]] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    def put(self, key: Float[Tensor, " d"], value: Float[Tensor, " e"]) -> None:
        """Store a value; one that the key had before is replaced."""
        pair = tensor(key), tensor(value)
        if any(x.ndim != 1 for x in pair):
            raise GradlabError(
                f"Keys and values are vectors, got shapes {', '.join(str(tuple(x.shape)) for x in pair)}."
            )
        for before in list(self._pairs.values())[:1]:
            if [x.shape for x in before] != [x.shape for x in pair]:
                wanted, got = (" and ".join(str(len(x)) for x in each) for each in (before, pair))
                raise GradlabError(f"A key and a value here have {wanted} numbers, and these have {got}.")
        self._pairs[_name(pair[0])] = pair

    def get(self, key: Float[Tensor, " d"]) -> Float[Tensor, " e"]:
        """The value of a key, which must be there."""
        return self._pairs[self._known(key)][1]

    def remove(self, key: Float[Tensor, " d"]) -> None:
        """Forget a key, which must be there, and its value."""
        del self._pairs[self._known(key)]

    def lookup(self, query: Float[Tensor, "*queries d"], attention: Attention | None = None) -> Tensor:
        """The mean of all values, weighted by how well each key fits the query: attention, here by dot products."""
        if not self._pairs:
            raise GradlabError("Nothing can be looked up in an empty store. Put a key and a value first.")
        keys, values = (torch.stack(each) for each in zip(*self._pairs.values(), strict=True))
        query = tensor(query).to(keys.dtype)
        result: Tensor = (attention or DotAttention())(query.reshape(-1, query.shape[-1]), keys, values)
        return result.reshape(*query.shape[:-1], -1)

    def _known(self, key: Tensor) -> tuple[float, ...]:
        name = _name(tensor(key))
        if name not in self._pairs:
            raise GradlabError(f"No key {list(name)} is stored. What is near it, `lookup` finds.")
        return name


def _name(key: Tensor) -> tuple[float, ...]:
    return tuple(key.detach().double().add(0.0).tolist())  # adding 0 makes 0 of -0, which is the same key
