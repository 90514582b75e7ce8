"""Arrays that are written part by part are read by NumPy as if they had been written at once."""

import tracemalloc

import numpy as np

from gradlab.files.arrays import save_parts


def test_numpy_reads_what_was_written_in_parts(tmp_path, rng):
    parts = [rng.normal(size=(n, 2, 3)) for n in (4, 4, 1)]
    labels: list[int] = []

    def drawn():
        for part in parts:
            labels.extend(range(len(part)))
            yield part

    save_parts(tmp_path / "x.npz", "x", (9, 2, 3), drawn(), lambda: {"y": np.array(labels)})
    with np.load(tmp_path / "x.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["x"], np.concatenate(parts).astype(np.float32))
        assert read["y"].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0]


def test_only_a_part_is_in_memory(tmp_path):
    tracemalloc.start()
    rows = (np.zeros((1000, 100)) for _ in range(200))
    save_parts(tmp_path / "x.npz", "x", (200_000, 100), rows, dict)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "x.npz").stat().st_size > 79e6
    assert peak < 10e6
