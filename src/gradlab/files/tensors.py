"""Tensors by name in a file of safetensors. Nothing is ever unpickled."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, load_file, save_file
from torch import Tensor

from gradlab.errors import one_line
from gradlab.files.reading import Damaged
from gradlab.files.sizes import check_size
from gradlab.printable import printable


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a file that does not exist; what fails is an OSError, as with any other file."""
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise (OSError(int(number[1]), os.strerror(int(number[1]))) if number else OSError(one_line(error))) from None
    path.chmod(mode)  # which is written readable to nobody else, whatever the user's umask allows


def load_tensors(path: Path, advice: str = "") -> dict[str, Tensor]:
    try:
        check_size(path, advice)
        if printable(path, 10_000) != str(path):  # the library opens no path that is no UTF-8
            return load(path.read_bytes())
        return load_file(path)
    except Damaged:
        raise
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise Damaged(path, one_line(error), advice) from None
