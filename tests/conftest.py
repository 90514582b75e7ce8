"""One thread and one seed for every test, whichever worker runs it and in whatever order."""

import os
import signal
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when OpenMP is loaded, so before torch is

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import settings

from gradlab import owners, process, register
from gradlab.recipes import book

if find_spec("triton") is not None and not torch.cuda.is_available():
    # Triton's own functions are kernels too, and are interpreted if this is set where it is loaded, which compilers of
    # torch do in other tests.
    os.environ["TRITON_INTERPRET"] = "1"
    import triton.language

    del os.environ["TRITON_INTERPRET"]

torch.set_num_threads(1)
# The same examples in every run: a test that is red is red again.
settings.register_profile("gradlab", derandomize=True, deadline=None, database=None, max_examples=25)
settings.load_profile("gradlab")
settings.register_profile("few", settings.get_profile("gradlab"), max_examples=2)


@pytest.fixture(autouse=True)
def seed():
    """Every test starts from the same state of every generator."""
    torch.manual_seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True)
def no_name_stays(monkeypatch):
    """What a test registers, and the files that it runs for it, are gone after it."""
    registries = (register.sources, register.models, register.tasks, register.optimizers, register.schedules)
    for names in (book, *registries):
        monkeypatch.setattr(names, "_things", dict(names._things))
        monkeypatch.setattr(names, "owners", dict(names.owners))
    monkeypatch.setattr(owners, "loaded", {})
    yield
    for name in [name for name in sys.modules if name.startswith("gradlab_code_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True, scope="session")
def cache_of_the_tests(tmp_path_factory):
    """No test, and no command that a test starts, sees the cache of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def commands_can_be_stopped():
    """Also where the tests run in the background or under nohup, whose signals are ignored.

    A child inherits an ignored signal, and not a handler: here it does nothing, and in the child it is the default.
    """
    for number in process.STOPPING:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
