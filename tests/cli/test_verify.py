"""`gradlab verify`: blocks of gradlab, and classes of users."""

from pathlib import Path

import pytest
import torch
from cli_helpers import ForkServer, check_refused

MODULES = Path(__file__).parents[1] / "verification" / "user_modules.py"


def test_a_block_is_shown_with_each_of_its_checks(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("verify", "activation.sigmoid", "--cases", "5", cwd=tmp_path)
    assert ended.code == 0
    rows = [line.split() for line in ended.out.splitlines()]
    assert ["twin", "scratch.functions.sigmoid", "5"] in [row[:3] for row in rows]
    assert [row for row in rows if row[:1] == ["law"] and row[-1] == "holds"]
    assert [row for row in rows if row[:2] == ["peer", "torch.nn.Sigmoid"] and row[-1] == "holds"]


def test_a_family_is_verified_by_its_name(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("verify", "neuron", "activation.leaky-relu", "--cases", "2", "--json", cwd=tmp_path).json
    assert [block["block"] for block in shown["blocks"]] == ["neuron.perceptron", "activation.leaky_relu"]


def test_json_has_kind_name_cases_worst_error_and_outcome(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("verify", "activation.tanh", "--cases", "5", "--json", cwd=tmp_path).json
    assert shown["passed"] is True
    (block,) = shown["blocks"]
    assert {check["kind"] for check in block["checks"]} == {"twin", "law", "peer"}
    for check in block["checks"]:
        assert check["passed"] is True
        assert check["cases"] == 5
        assert 0 <= check["worst_error"] <= check["tolerance"]
        assert check["name"]


def test_a_seed_gives_its_own_cases_and_the_same_each_time(quick: ForkServer, tmp_path: Path) -> None:
    ask = ("verify", f"{MODULES}:Leaky", "--like", "activation.softplus", "--json", "--seed")
    first, again, other = (quick(*ask, seed, cwd=tmp_path).json["blocks"][0]["checks"] for seed in (1, 1, 2))
    assert first == again
    assert [check["worst_error"] for check in first] != [check["worst_error"] for check in other]


def test_a_users_class_that_is_right_ends_with_0(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("verify", f"{MODULES}:Rectifier", "--like", "activation.relu", "--cases", "5", cwd=tmp_path)
    assert ended.code == 0
    assert "BROKEN" not in ended.out


def test_a_users_class_that_is_wrong_ends_with_3_and_the_smallest_case(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("verify", f"{MODULES}:Leaky", "--like", "activation.relu", cwd=tmp_path)
    assert ended.code == 3
    assert "law broken: stretching the input stretches the output" in ended.out
    assert "smallest case that breaks it:" in ended.out
    assert "  x = -3" in ended.out


def test_a_broken_check_as_json_has_its_smallest_case(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("verify", f"{MODULES}:Leaky", "--like", "activation.relu", "--json", cwd=tmp_path)
    assert ended.code == 3
    assert ended.json["passed"] is False
    twin = ended.json["blocks"][0]["checks"][0]
    assert (twin["passed"], twin["example"]["x"]) == (False, -3.0)


def test_values_reach_the_constructor(quick: ForkServer, tmp_path: Path) -> None:
    values = ["width=2", "height=1", "pieces=2", "in_features=3", "bias=false"]
    ended = quick("verify", f"{MODULES}:Largest", "--like", "activation.maxout", *values, "--cases", "3", cwd=tmp_path)
    assert ended.code == 0, ended.err


def test_a_dtype_has_its_own_tolerance(quick: ForkServer, tmp_path: Path) -> None:
    shown = quick("verify", "norm.rms", "--dtype", "bfloat16", "--cases", "5", "--json", cwd=tmp_path).json
    (check,) = shown["blocks"][0]["checks"]
    assert check["kind"] == "twin"
    assert check["passed"] is True
    assert check["tolerance"] == 2**-4
    assert 1e-9 < check["worst_error"] < 2**-4


def test_what_has_no_twin_is_counted_as_not_made(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("verify", "init.zeros", "kernel.affine", "--dtype", "float32", "--cases", "3", cwd=tmp_path)
    assert ended.code == 0
    assert "not made: it has no twin" in " ".join(ended.out.split())
    assert "2 blocks: 1 checks hold, 0 are broken, 3 are not made" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["activaton"], "Did you mean 'activation'"),
        ([f"{MODULES}:Leaky"], "say which block: --like NAME"),
        (["--like", "activation.relu"], "Nothing to check"),
        ([f"{MODULES}:Leaky", "--like", "activation.rleu"], "Did you mean 'activation.relu'"),
        ([f"{MODULES}:Leky", "--like", "activation.relu"], "Did you mean 'Leaky'"),
        (["absent.py:Leaky", "--like", "activation.relu"], "There is no file absent.py"),
        (
            [f"{MODULES}:number", "--like", "activation.relu"],
            "neither a module, a class of modules nor a function",
        ),
        ([f"{MODULES}:Leaky", "--like", "activation.relu", "depth"], "'depth' is no value for the class"),
        ([f"{MODULES}:Leaky", "--like", "activation.relu", "depth=3"], "Leaky(depth=3) cannot be built"),
        (["activation.relu", "--cases", "0"], "--cases"),
        (["activation.relu", "--dtype", "int8"], "--dtype"),
        pytest.param(
            ["activation.relu", "--device", "cuda"],
            "--device cuda was asked for, but this machine has none",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is one"),
        ),
    ],
)
def test_bad_input_is_refused_in_one_message(
    quick: ForkServer, tmp_path: Path, arguments: list[str], message: str
) -> None:
    check_refused(quick("verify", *arguments, cwd=tmp_path), message)
