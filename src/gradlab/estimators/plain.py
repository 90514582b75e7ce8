"""Python values as JSON, and back as what they were."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from gradlab.data.tables.columns import Column
from gradlab.errors import GradlabError
from gradlab.files import check_content


def plain(value: Any) -> Any:
    """As JSON can hold it; what JSON has no form for is marked with what it is.

    >>> plain({"hidden": (64, 32)})
    {'$dict': [['hidden', {'$tuple': [64, 32]}]]}
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return plain(value.item())
        case np.ndarray():
            return {"$array": [value.dtype.str, plain(value.tolist())]}
        case list():
            return [plain(item) for item in value]
        case tuple():
            return {"$tuple": [plain(item) for item in value]}
        case Mapping():
            return {"$dict": [[plain(k), plain(v)] for k, v in value.items()]}
        case Column():
            return {"$column": asdict(value)}
    raise GradlabError(f"{value!r} is of a type that cannot be saved.")


def restored(value: Any) -> Any:
    """The inverse of `plain`, but for NumPy's scalars, which come back as Python's."""
    match value:
        case {"$array": [kind, values]}:
            return np.array(restored(values), dtype=np.dtype(kind))
        case {"$tuple": items}:
            return tuple(restored(item) for item in items)
        case {"$dict": items}:
            return {restored(k): restored(v) for k, v in items}
        case {"$column": fields}:
            return check_content(fields, Column, "a column")
        case list():
            return [restored(item) for item in value]
    return value
