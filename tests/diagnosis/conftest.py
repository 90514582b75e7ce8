"""Whatever a test here does with the doctor, torch is as it was afterwards."""

import pytest
from torch.nn.modules import module


@pytest.fixture(autouse=True)
def nothing_is_left_in_torch():
    yield
    assert not module._has_any_global_hook()
