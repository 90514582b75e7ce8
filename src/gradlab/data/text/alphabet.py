"""Symbols of generated texts."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

LETTERS = ascii_lowercase
Symbols = Annotated[int, Ge(2), Le(len(LETTERS)), "different symbols, the first letters of the alphabet"]


def equal_texts(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """The number of the group of each text: equal ones are in one split alone.

    >>> equal_texts(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    return np.unique(np.array(texts), return_inverse=True)[1].astype(np.int64)
