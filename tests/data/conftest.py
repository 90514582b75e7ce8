"""A cache for each test, and tables read as the command line reads them."""

import resource
from contextlib import contextmanager

import pytest

from gradlab.data import sources
from gradlab.registry import Part


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """The folder that is the cache of this test alone."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("GRADLAB_CACHE", str(folder))
    return folder


@pytest.fixture
def read_table(tmp_path):
    """`read_table(content, target=…, …)`: the source `csv` for a file of this content."""

    def read(content, target="y", **knobs):
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        part = sources.resolve(Part("csv", {"path": str(path), "target": target, **knobs}), "data")
        return sources.build(part, 0)

    return read


@pytest.fixture
def full_disk():
    """`with full_disk(size)`: no file can grow beyond so many bytes."""

    @contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
