"""Whatever a file holds, reading it ends in content of the wanted form, or in one message."""

import os
from pathlib import Path

import pytest
from typing_extensions import TypedDict

from gradlab.errors import GradlabError
from gradlab.files import Damaged, check_sums, read_bytes, read_json, read_toml, sha256, write_sums


class Form(TypedDict):
    steps: int
    figures: dict[str, float]


SOUND = '{"steps": 3, "figures": {"loss": 0.5, "accuracy": 1}}'

DAMAGES = {
    "empty": (b"", "Expecting value"),
    "cut": (SOUND[:20].encode(), "Unterminated string"),
    "no UTF-8": (b'{"steps": "\xff"}', "byte 11 is no UTF-8"),
    "a key renamed": (SOUND.replace("steps", "stops").encode(), "steps: field required"),
    "another type": (SOUND.replace("3", '"3"').encode(), "steps: input should be a valid integer"),
    "another type below": (SOUND.replace("0.5", "[]").encode(), "figures.loss: input should be a valid number"),
    "a list": (b"[]", "its content: input should be a valid dictionary"),
    "nested deeply": (b"[" * 10_000 + b"]" * 10_000, "nested too deeply"),
    "nested": (b'{"a":' * 200 + b"1" + b"}" * 200, "nested too deeply"),
    "many digits": (SOUND.replace("3", "3" * 5000).encode(), "Exceeds the limit"),
    "a large number": (SOUND.replace("3", "3" * 50).encode(), "a number that is too large"),
    "half a character": (SOUND.replace('"loss"', '"\\ud800"').encode(), "half a character"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_json_file_is_told_in_one_line(tmp_path, damage):
    content, words = DAMAGES[damage]
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(Damaged) as told:
        read_json(path, Form, "Do this.")
    message = str(told.value)
    assert message.startswith(f"{path} is damaged: ")
    assert message.endswith(". Do this.")
    assert words in message
    assert "\n" not in message


def test_a_sound_file_is_read_as_it_is(tmp_path):
    (tmp_path / "file.json").write_text(SOUND.replace("loss", "\\ud83d\\ude00"))
    assert read_json(tmp_path / "file.json", Form) == {"steps": 3, "figures": {"😀": 0.5, "accuracy": 1}}


TOML = {
    "cut": b"a = [1, 2",
    "no UTF-8": b'a = "\xff"',
    "nested deeply": b"a = " + b"[" * 10_000 + b"]" * 10_000,
    "many digits": b"a = " + b"3" * 5000,
    "a surrogate": b'a = "\\ud800"',
}


@pytest.mark.parametrize("damage", TOML)
def test_a_damaged_toml_file_is_told_in_one_line(tmp_path, damage):
    (tmp_path / "file.toml").write_bytes(TOML[damage])
    with pytest.raises(GradlabError, match=r"file\.toml is damaged: [^\n]*\. Do this\."):
        read_toml(tmp_path / "file.toml", "Do this.")


def test_what_is_no_file_is_told(tmp_path):
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    for name, words in {"dangling": "No such file", "pipe": "it is no file", ".": "it is no file"}.items():
        with pytest.raises(Damaged, match=f"is damaged: .*{words}"):
            read_json(tmp_path / name, Form)
    (tmp_path / "large").write_bytes(b" " * 100)
    with pytest.raises(Damaged, match="its 100 bytes are more"):
        read_bytes(tmp_path / "large", most=99)


def test_sums_cover_every_file_that_must_be_there(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    write_sums(tmp_path)
    check_sums(tmp_path, ["a", "b"])
    with pytest.raises(Damaged, match="does not list"):
        check_sums(tmp_path, ["a", "b", "c"])
    (tmp_path / "c").write_text("c")
    with pytest.raises(Damaged, match="does not list c"):
        check_sums(tmp_path, ["a", "b"], ["c"])
    (tmp_path / "a").write_text("other")
    with pytest.raises(Damaged, match="a is damaged: its SHA-256"):
        check_sums(tmp_path, ["a", "b"])
    (tmp_path / "a").unlink()
    with pytest.raises(Damaged, match="a is damaged: it cannot be read"):
        check_sums(tmp_path, ["a", "b"])
    assert sha256(tmp_path / "b") == "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
