"""Sizes in a config.json from a stranger: compared with the weights before anything of that size is made."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.models.pretrained import reading
from gradlab.models.pretrained.reading import ARCHITECTURES

HUGE = [2**31, 2**40, 2**62, 2**63 - 1]
SIZES = [
    pytest.param(name, setting.theirs, id=f"{name}-{setting.theirs}")
    for name, architecture in ARCHITECTURES.items()
    for setting in architecture.settings
    if isinstance(setting.default, int | None) and not isinstance(setting.default, bool)
]


def write(folder: Path, name: str, **sizes: int) -> None:
    """A folder of small sizes, of which some are others, with hardly any weights."""
    settings = ARCHITECTURES[name].settings
    small = {s.theirs: 8 for s in settings if isinstance(s.default, int) and s.default > 8}
    (folder / "config.json").write_text(json.dumps({"architectures": [name], **small, **sizes}))
    save_file({"a": torch.zeros(2)}, folder / "model.safetensors")


@pytest.mark.parametrize(("name", "theirs"), SIZES)
def test_a_huge_size_is_refused_in_one_message(name: str, theirs: str, tmp_path: Path) -> None:
    for size in HUGE:
        write(tmp_path, name, **{theirs: size})
        with pytest.raises(GradlabError, match=r"config\.json|do not fit"):
            gl.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_all_sizes_at_once_may_be_huge(name: str, tmp_path: Path) -> None:
    for size in HUGE:
        write(tmp_path, name, **{s.theirs: size for s in ARCHITECTURES[name].settings if isinstance(s.default, int)})
        with pytest.raises(GradlabError, match=r"config\.json|do not fit"):
            gl.from_pretrained(tmp_path)


def test_files_that_do_not_fit_into_memory_together_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "GPT2LMHeadModel")
    size = (tmp_path / "model.safetensors").stat().st_size
    monkeypatch.setattr(reading, "memory", lambda: size - 1)
    with pytest.raises(GradlabError, match="more than the memory of this machine"):
        gl.from_pretrained(tmp_path)
    monkeypatch.setattr(reading, "memory", lambda: size)
    with pytest.raises(GradlabError, match="do not fit its config"):
        gl.from_pretrained(tmp_path)
