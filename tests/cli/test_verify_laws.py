"""`gradlab verify laws`: the laws of the course by their names."""

import json
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused

from gradlab.cli import main
from gradlab.verification import checks
from gradlab.verification.checks import Check


def test_laws_are_listed_by_the_parts_of_the_course(quick: ForkServer, tmp_path: Path) -> None:
    asked = ["softmax-shift", "conv-output-size", "attention-kv-invariance"]
    ended = quick("verify", "laws", *asked, "--cases", "3", cwd=tmp_path)
    assert ended.code == 0
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert max(map(len, lines)) <= 100
    titles = [lines.index(title) for title in ("Neurons & activations", "CNN", "Attention")]
    assert titles == sorted(titles)
    for law, cases in zip(asked, (3, 6, 24), strict=True):
        (row,) = (line.split() for line in lines if line.startswith(f"  {law} "))
        assert (row[-4], row[-2], row[-1]) == (str(cases), "1e-09", "holds")
    flat = " ".join(" ".join(lines).split())
    assert "the sizes give the number of places (conv.conv1d, conv2d)" in " ".join(
        word for word in flat.split() if word not in ("6", "0", "1e-09", "holds")
    )
    assert lines[-1] == "3 of 3 laws hold, and reject the wrong versions that were planted for them."


def test_json_has_for_each_law_what_came_of_it(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("verify", "laws", "sigmoid", "performer-cosh", "--cases", "2", "--json", cwd=tmp_path).json
    assert shown["passed"] is True
    sigmoid, cosh = shown["laws"]
    assert (sigmoid["id"], sigmoid["group"], sigmoid["cases"]) == ("sigmoid", "Neurons & activations", 6)
    assert "activation.sigmoid: mirrored inputs give complements" in sigmoid["checks"]
    for law in (sigmoid, cosh):
        assert law["passed"] is law["rejects"] is True
        assert 0 <= law["worst"] <= law["allowed"]
        assert law["reasons"] == []
    assert cosh["allowed"] == 5, "in standard errors"


def test_a_law_that_is_not_there_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(
        quick("verify", "laws", "sigmoyd", cwd=tmp_path), "There is no law 'sigmoyd'. Did you mean 'sigmoid'?"
    )
    check_refused(quick("verify", "laws", "tanh", "--cases", "0", cwd=tmp_path), "--cases 0 checks nothing")


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Of a command in this process, in which checks can be changed."""
    with pytest.raises(SystemExit) as ended:
        main(["verify", "laws", *arguments, "--cases", "2"])
    code = ended.value.code
    return (code if isinstance(code, int) else 0), capsys.readouterr().out


@pytest.fixture
def stated(monkeypatch: pytest.MonkeyPatch) -> list[Check]:
    """The checks of the softmax, to be changed."""
    own = [check for check in checks["activation.softmax"] if "softmax-shift" in check.ids]
    monkeypatch.setitem(checks, "activation.softmax", own)
    return own


def test_a_broken_law_ends_with_3_and_says_where(stated: list[Check], capsys: pytest.CaptureFixture[str]) -> None:
    (right,) = stated
    stated[0] = Check("law", right.block, right.name, lambda case: 0.5, faults=right.faults, ids=right.ids)
    code, out = outcome(capsys, "softmax-shift")
    assert code == 3
    assert "BROKEN" in out
    assert "activation.softmax, moving all inputs alike changes nothing: off by 0.5, allowed is 1e-09" in out
    assert "0 of 1 laws hold" in out
    code, out = outcome(capsys, "softmax-shift", "--json")
    assert code == 3
    (law,) = json.loads(out)["laws"]
    assert (law["passed"], law["worst"]) == (False, 0.5)


def test_a_law_that_rejects_nothing_ends_with_3(stated: list[Check], capsys: pytest.CaptureFixture[str]) -> None:
    (right,) = stated
    stated[0] = Check("law", right.block, right.name, lambda case: 0.0, faults=right.faults, ids=right.ids)
    code, out = outcome(capsys, "softmax-shift")
    assert code == 3
    assert "REJECTS" in out
    assert "softmax-shift: a wrong version that was planted for it is not rejected" in " ".join(out.split())


def test_a_law_that_nothing_states_ends_with_3(stated: list[Check], capsys: pytest.CaptureFixture[str]) -> None:
    stated.clear()
    code, out = outcome(capsys, "softmax-shift", "--json")
    assert code == 3
    (law,) = json.loads(out)["laws"]
    assert (law["cases"], law["worst"], law["passed"], law["rejects"]) == (0, None, False, False)
    assert law["reasons"] == ["softmax-shift: no check states it"]
