import os
import resource

import pytest

from gradlab import process
from gradlab.data.memory import check_memory, memory_for_data
from gradlab.errors import GradlabError

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.fixture
def limits(monkeypatch, tmp_path):
    """`limits(data=…, container=…)`: what the process may have; by default anything."""

    def use(data=resource.RLIM_INFINITY, container=None):
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (data, data))
        monkeypatch.setattr(process, "_CONTAINER", (tmp_path / "missing", tmp_path / "limit"))
        if container is not None:
            (tmp_path / "limit").write_text(container)

    return use


def test_without_limits_it_is_a_share_of_the_machine(limits):
    limits()
    assert memory_for_data() == MACHINE // 8
    limits(container="max\n")
    assert memory_for_data() == MACHINE // 8


def test_a_limit_of_the_process_or_of_its_container_counts(limits):
    limits(data=2**29)
    assert memory_for_data() == 2**26
    limits(container=f"{2**30}\n")
    assert memory_for_data() == 2**27
    limits(data=2**29, container=f"{2**30}\n")
    assert memory_for_data() == 2**26


def test_a_limit_beyond_the_machine_changes_nothing(limits):
    limits(container="9223372036854771712")
    assert memory_for_data() == MACHINE // 8


def test_what_takes_more_than_there_is_is_refused_with_both_numbers(limits):
    limits(container=f"{2 * 10**9}\n")
    check_memory(2 * 10**9, "It", "Take less.")
    with pytest.raises(GradlabError, match=r"It would take 3\.5 GB of memory, and there are 2\.0\. Take less\."):
        check_memory(35 * 10**8, "It", "Take less.")
