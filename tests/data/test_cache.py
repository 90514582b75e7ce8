import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradlab.data.cache import cache_folder, changed_guard, converted, data_folder, file_key
from gradlab.errors import GradlabError


@pytest.fixture
def settings(monkeypatch):
    """`settings(NAME=value)`: the environment with only these of the variables that matter."""

    def use(**variables):
        for name in ("GRADLAB_CACHE", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return use


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"GRADLAB_CACHE": "/big/cache", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/ada"}, "/big/cache"),
        ({"GRADLAB_CACHE": "~/cache", "HOME": "/home/ada"}, "/home/ada/cache"),
        ({"GRADLAB_CACHE": "", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/ada"}, "/xdg/gradlab"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/ada"}, "/xdg/gradlab"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/ada"}, "/home/ada/.cache/gradlab"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/ada"}, "/home/ada/.cache/gradlab"),
        ({"HOME": "/home/ada"}, "/home/ada/.cache/gradlab"),
    ],
)
def test_the_environment_says_where_the_cache_is(settings, variables, expected):
    settings(**variables)
    assert cache_folder() == Path(expected)
    assert cache_folder("datasets", "mnist") == Path(expected, "datasets", "mnist")


def test_a_relative_cache_is_made_absolute(settings, tmp_path, monkeypatch):
    settings(GRADLAB_CACHE="here", HOME="/home/ada")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / "here"


def test_a_user_without_a_home_is_told_what_to_set(settings, monkeypatch):
    settings()

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(GradlabError, match="Set GRADLAB_CACHE"):
        cache_folder()


def test_data_are_where_the_user_says_or_else_in_the_cache(settings, tmp_path):
    settings(GRADLAB_CACHE=str(tmp_path))
    assert data_folder("mnist", "/my/own") == Path("/my/own")
    for _ in range(2):  # without the folder, then with an empty one
        with pytest.raises(GradlabError) as caught:
            data_folder("mnist", None)
        for words in (str(tmp_path / "datasets" / "mnist"), "gradlab data fetch mnist", "--data FOLDER"):
            assert words in str(caught.value)
        (tmp_path / "datasets" / "mnist").mkdir(parents=True, exist_ok=True)
    (tmp_path / "datasets" / "mnist" / "file").touch()
    assert data_folder("mnist", None) == tmp_path / "datasets" / "mnist"


@pytest.mark.parametrize("size", [0, 1, 2**20 - 1, 2**20, 3 * 2**20 + 5])
def test_the_key_of_a_file_is_the_sha256_of_its_content(tmp_path, rng, size):
    content = rng.bytes(size)
    for name in ("one", "other"):
        (tmp_path / name).write_bytes(content)
        assert file_key(tmp_path / name) == hashlib.sha256(content).hexdigest()


def test_a_file_without_a_key_is_named(tmp_path):
    with pytest.raises(GradlabError, match="missing cannot be read: No such file"):
        file_key(tmp_path / "missing")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1,2\n")
    os.utime(path, ns=(10**18, 10**18))
    return path


def grow(path):
    path.write_text("1,2\n3,4\n")
    os.utime(path, ns=(10**18, 10**18))


def rewrite(path):
    path.write_text("5,6\n")


def exchange(path):
    other = path.with_name("other")
    other.write_text("5,6\n")
    os.utime(other, ns=(10**18, 10**18))  # the size and the time of the first
    other.replace(path)


def fail(*done, error=None):
    raise error or ValueError("the reader stumbled")


CHANGES = [grow, rewrite, exchange, Path.unlink]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_read_is_named(file, change):
    with pytest.raises(GradlabError, match=r"table\.csv changed while it was read\. Try again"), changed_guard(file):
        change(file)


@pytest.mark.parametrize("change", CHANGES)
def test_a_reader_that_fails_over_a_changed_file_is_explained_by_the_change(file, change):
    with pytest.raises(GradlabError, match=r"table\.csv changed while it was read"), changed_guard(file):
        fail(change(file))


def test_a_file_that_stays_as_it_is_can_be_read_and_a_reader_that_fails_speaks_for_itself(file):
    with changed_guard(file):
        assert file.read_text() == "1,2\n"
    with pytest.raises(ValueError, match="the reader stumbled"), changed_guard(file):
        fail()


def test_a_missing_file_is_named_before_it_is_read(tmp_path):
    with pytest.raises(GradlabError, match="nowhere cannot be read"), changed_guard(tmp_path / "nowhere"):
        pytest.fail("there was nothing to read")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(folder, **content):
    """A conversion."""
    for name, text in content.items():
        (folder / name).write_text(text)


def made(tmp_path, content="right"):
    return converted(tmp_path / "deep" / "abc", lambda folder: write(folder, x=content), ["x"], ["y"])


def test_a_folder_is_converted_once_and_appears_whole_with_its_sums(tmp_path):
    folder = made(tmp_path)
    assert (folder / "x").read_text() == "right"
    assert names(folder) == ["SHA256SUMS", "x"]
    assert made(tmp_path, "another") == folder
    assert (folder / "x").read_text() == "right"
    assert names(folder.parent) == ["abc"]


def flip(path):
    """One bit of it is another, and size and time are as before."""
    before, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DAMAGES = [
    lambda folder: flip(folder / "x"),
    lambda folder: (folder / "x").write_bytes(b""),
    lambda folder: (folder / "x").unlink(),
    lambda folder: (folder / "SHA256SUMS").unlink(),  # as versions that wrote none have left it
    lambda folder: (folder / "SHA256SUMS").write_bytes(b"\xff"),
    lambda folder: (folder / "y").write_text("nobody knows it"),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_told_and_converted_again(tmp_path, capsys, damage):
    folder = made(tmp_path)
    damage(folder)
    made(tmp_path)
    assert "is damaged" in capsys.readouterr().err
    assert (folder / "x").read_text() == "right"
    assert names(folder) == ["SHA256SUMS", "x"]
    assert names(folder.parent) == ["abc"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, GradlabError])
def test_a_conversion_that_fails_leaves_nothing(tmp_path, failure):
    with pytest.raises(failure):
        converted(tmp_path / "abc", lambda folder: fail(write(folder, x="half"), error=failure("no")), ["x"])
    assert names(tmp_path) == []


def test_the_first_of_two_conversions_wins_and_the_other_does_not_notice(tmp_path):
    def slow(folder):
        write(folder, x="slow")
        converted(tmp_path / "abc", lambda folder: write(folder, x="fast"), ["x"])

    assert (converted(tmp_path / "abc", slow, ["x"]) / "x").read_text() == "fast"
    assert names(tmp_path) == ["abc"]


def test_what_a_killed_process_was_converting_is_cleared_away_by_the_next_one(tmp_path):
    code = """
import sys, time
from pathlib import Path
from gradlab.data.cache import converted
def convert(folder):
    (folder / "half").touch()
    print("converting", flush=True)
    time.sleep(600)
converted(Path(sys.argv[1]), convert, ["x"])
"""
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "abc"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        begun = names(tmp_path)
        converted(tmp_path / "other", lambda folder: write(folder, x=""), ["x"])
        assert names(tmp_path) == sorted([*begun, "other"])  # its process is alive
        process.kill()
    converted(tmp_path / "third", lambda folder: write(folder, x=""), ["x"])
    assert names(tmp_path) == ["other", "third"]


@pytest.mark.parametrize("place", ["file/below", "/proc/nowhere", "/dev/null/below"])
def test_a_cache_that_cannot_be_written_is_named_with_what_to_set(tmp_path, place):
    (tmp_path / "file").touch()
    folder = tmp_path / place / "abc"
    with pytest.raises(GradlabError) as caught:
        converted(folder, lambda folder: pytest.fail("there was nowhere to write"), ["x"])
    assert str(folder) in str(caught.value)
    assert "Set GRADLAB_CACHE" in str(caught.value)


def test_a_file_in_place_of_the_folder_is_replaced(tmp_path):
    (tmp_path / "abc").write_text("in the way")
    assert (converted(tmp_path / "abc", lambda folder: write(folder, x="right"), ["x"]) / "x").read_text() == "right"
    assert names(tmp_path) == ["abc"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_is_told_and_emptied_again(tmp_path, code):
    full = OSError(code, os.strerror(code))
    with pytest.raises(GradlabError, match=r"cannot be written: .* Set GRADLAB_CACHE"):
        converted(tmp_path / "abc", lambda folder: fail(write(folder, x="half"), error=full), ["x"])
    assert names(tmp_path) == []


def test_other_failures_of_the_system_are_passed_on(tmp_path):
    with pytest.raises(FileNotFoundError):
        converted(tmp_path / "abc", lambda folder: (tmp_path / "missing").read_text(), ["x"])
    assert names(tmp_path) == []
