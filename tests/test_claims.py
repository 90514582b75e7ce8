"""Which process works on what."""

import errno
import os
from pathlib import Path

import pytest

from gradlab.claims import alone, claimed
from gradlab.errors import GradlabError


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EROFS, "Permit writing"), (errno.EACCES, "Permit writing"), (errno.ENOSPC, "Make room")],
)
@pytest.mark.parametrize("claim", [alone, lambda path: claimed(path, "taken")])
def test_claim_in_a_folder_that_cannot_be_written_is_one_message(monkeypatch, tmp_path, claim, number, advice):
    def refuse(path, *arguments, **options):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(GradlabError, match=rf"cannot be written: {os.strerror(number)}\. {advice}"):
        claim(tmp_path / ".lock").__enter__()
