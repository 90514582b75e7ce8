import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from gradlab import fit
from gradlab.errors import GradlabError
from gradlab.files import remove
from gradlab.run.checkpoint import (
    Checkpoint,
    copy_tensors,
    flatten,
    newest_sound,
    read,
    rng_state,
    set_rng_state,
    steps,
    unflatten,
    write,
)

CPU = torch.device("cpu")


def sample(step=7, best=True, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def weights():
        return {"0.weight": torch.randn(3, 4, generator=generator), "0.bias": torch.randn(3, generator=generator)}

    return Checkpoint(
        step=step,
        model={**weights(), "1.num_batches_tracked": torch.tensor(5)},
        optimizer={"step": torch.tensor(7.0), "exp_avg": weights(), "history": [torch.ones(2), None, 0.1]},
        state={"progress": {"best_loss": float("inf"), "window_sum": 0.1 + 0.2}, "rng": {"cpu": "00ff"}},
        best=weights() if best else None,
    )


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("best", [True, False])
def test_what_is_written_is_read_back_exactly(best, tmp_path):
    checkpoint = sample(best=best)
    path = write(tmp_path, checkpoint)
    got = read(path)
    assert path.name == "step-00000007"
    for part in ("step", "model", "optimizer", "state", "best"):
        assert same(getattr(checkpoint, part), getattr(got, part)), part
    assert same(got.chosen, checkpoint.best if best else checkpoint.model)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_the_sums_are_those_of_sha256sum(tmp_path):
    path = write(tmp_path, sample())
    done = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [
        f"{name}: OK" for name in ("best.safetensors", "model.safetensors", "optimizer.safetensors", "state.json")
    ]


def test_every_file_is_safetensors_json_or_text_and_none_is_pickled(tmp_path):
    path = write(tmp_path, sample())
    for file in path.iterdir():
        content = file.read_bytes()
        match file.suffix:
            case ".safetensors":
                safetensors.numpy.load(content)  # which knows nothing of pickle
            case ".json":
                json.loads(content)
            case _:
                assert file.name == "SHA256SUMS"
                assert content.isascii()


def test_weights_are_read_under_their_plain_names_without_gradlab(tmp_path):
    checkpoint = sample()
    arrays = safetensors.numpy.load_file(write(tmp_path, checkpoint) / "model.safetensors")
    assert arrays.keys() == checkpoint.model.keys()
    assert np.array_equal(arrays["0.weight"], checkpoint.model["0.weight"].numpy())


FILES = ["model.safetensors", "optimizer.safetensors", "best.safetensors", "state.json"]


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def truncate(file):
    os.truncate(file, file.stat().st_size - 1)


def empty(file):
    os.truncate(file, 0)


def unlink(file):
    file.unlink()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [flip, truncate, empty, unlink])
def test_a_damaged_file_is_named(name, damage, tmp_path):
    path = write(tmp_path, sample())
    damage(path / name)
    with pytest.raises(GradlabError) as caught:
        read(path)
    assert str(path / name) in str(caught.value)


@pytest.mark.parametrize("damage", [empty, unlink])
def test_sums_that_are_missing_are_found(damage, tmp_path):
    path = write(tmp_path, sample())
    damage(path / "SHA256SUMS")
    with pytest.raises(GradlabError, match=r"step-00000007/SHA256SUMS is damaged"):
        read(path)


def test_sums_with_any_letter_changed_or_line_missing_are_found(tmp_path):
    sums = write(tmp_path, sample()) / "SHA256SUMS"
    whole = sums.read_text()
    lines = whole.splitlines(keepends=True)
    changed = [whole[:i] + chr(ord(c) ^ 1) + whole[i + 1 :] for i, c in enumerate(whole) if not c.isspace()]
    missing = ["".join(line for line in lines if line is not gone) for gone in lines if "best" not in gone]
    for damaged in changed + missing:
        sums.write_text(damaged)
        with pytest.raises(GradlabError, match="step-00000007"):
            read(sums.parent)


def test_the_newest_sound_checkpoint_is_used_and_the_damage_told(tmp_path):
    for step in (5, 10, 15, 20):
        write(tmp_path, sample(step, seed=step))
    flip(tmp_path / "step-00000020" / "model.safetensors")
    unlink(tmp_path / "step-00000015" / "SHA256SUMS")
    found, complaints = newest_sound(tmp_path)
    assert found.step == 10
    assert same(found.model, sample(10, seed=10).model)
    assert len(complaints) == 2
    assert "step-00000020/model.safetensors is damaged" in complaints[0]
    assert "step-00000015" in complaints[1]


def test_a_folder_without_checkpoints_has_no_newest(tmp_path):
    assert newest_sound(tmp_path / "nowhere") == (None, [])


def test_a_half_written_checkpoint_is_never_seen(tmp_path, monkeypatch):
    write(tmp_path, sample(5))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gradlab.files.writing.flush", killed)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, sample(10))
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000005"]


def test_the_leftover_of_a_killed_writer_is_not_taken_for_a_checkpoint(tmp_path):
    write(tmp_path, sample(5))
    shutil.copytree(tmp_path / "step-00000005", tmp_path / ".step-00000010-99")
    assert [p.name for p in steps(tmp_path)] == ["step-00000005"]


def test_the_same_step_may_be_written_again(tmp_path):
    write(tmp_path, sample(5, seed=1))
    write(tmp_path, sample(5, seed=2))
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000005"]
    assert same(read(tmp_path / "step-00000005").model, sample(5, seed=2).model)


def test_checkpoints_come_newest_first_and_are_removed_whole(tmp_path):
    for step in (900, 1000, 95):
        write(tmp_path, sample(step))
    assert [int(p.name[5:]) for p in steps(tmp_path)] == [1000, 900, 95]
    remove(tmp_path / "step-00000900")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000095", "step-00001000"]


def test_tied_and_transposed_weights_are_saved(tmp_path):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    model.register_buffer("turned", torch.randn(4, 2).T)
    checkpoint = Checkpoint(step=1, model=copy_tensors(model.state_dict()), optimizer={}, state={})
    assert same(read(write(tmp_path, checkpoint)).model, dict(model.state_dict()))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
TENSORS = st.lists(st.floats(width=32, allow_nan=False), max_size=3).map(torch.tensor)
KEYS = st.sampled_from(["a", "b", "0", "tensor", "weight"])
NESTED = st.recursive(
    LEAVES | TENSORS, lambda c: st.lists(c, max_size=3) | st.dictionaries(KEYS, c, max_size=3), max_leaves=6
)


@given(st.dictionaries(KEYS, NESTED, max_size=3))
@example({"exp_avg": {"tensor": torch.ones(1)}})
def test_any_nesting_goes_through_flat_tensors_and_json(nested):
    tensors, structure = flatten(nested)
    assert all(isinstance(t, torch.Tensor) for t in tensors.values())
    assert same(unflatten(json.loads(json.dumps(structure, allow_nan=False)), tensors), nested)


def test_a_copy_does_not_follow_the_live_tensor():
    live = torch.zeros(3)
    taken = copy_tensors({"a": [live]})
    live += 1
    assert taken["a"][0].tolist() == [0, 0, 0]


def test_the_generator_goes_on_where_it_stood():
    state = json.loads(json.dumps(rng_state(CPU)))
    first = torch.rand(5)
    set_rng_state(state, CPU)
    assert torch.equal(torch.rand(5), first)


def test_every_file_may_be_read_by_whom_the_umask_allows(tmp_path):
    path = write(tmp_path, sample())
    assert len({file.stat().st_mode for file in path.iterdir()}) == 1


def test_a_sparse_buffer_is_refused_before_anything_is_written(tmp_path):
    model = nn.Linear(4, 3)
    model.register_buffer("edges", torch.eye(3).to_sparse())
    data = torch.randn(12, 4), torch.arange(12) % 3
    with pytest.raises(GradlabError, match=r"edges is sparse \(sparse_coo\).*persistent=False"):
        fit(model, data, out=tmp_path / "run", epochs=1)
    assert not (tmp_path / "run").exists()
