"""Names that no file system has are one message, wherever the library takes a name of a file or folder."""

import numpy as np
import pytest
import torch

import gradlab as gl
from gradlab.files import check_path

CALLS = {
    "fit": lambda name: gl.fit(torch.nn.Linear(2, 2), (np.eye(2), np.arange(2)), out=name),
    "train": lambda name: gl.train("iris-softmax", out=name),
    "train on": lambda name: gl.train("csv", data=name),
    "load_run": gl.load_run,
    "from_pretrained": gl.from_pretrained,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"], ids=["too long", "null byte", "half a character"])
def test_a_name_that_no_file_can_have_is_refused(call, name):
    with pytest.raises(gl.GradlabError, match="cannot be the name of a file"):
        CALLS[call](name)


def test_names_of_what_is_not_there_yet_are_names(tmp_path):
    (tmp_path / "file").touch()
    for name in ("new", "new/newer", "file/below", "."):
        check_path(tmp_path / name, "out")
