"""Several processes that train together: the same trainings as in one, up to the rounding of sums in another order."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from process_scenarios import SCENARIOS

TORCHRUN = Path(sys.executable).with_name("torchrun")
# The most that three processes are good for: a batch of two, of which one of them has nothing.
THREE = ("small_last_batches", "resumed_at_a_small_batch", "constant", "refusals", "exchanges")

pytestmark = pytest.mark.skipif(not TORCHRUN.exists(), reason="needs torchrun beside the interpreter")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def together(processes: int, folder: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """What each process saw of some scenarios, all of them in one start."""
    options = ["--nproc-per-node", str(processes), "--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    script = Path(__file__).with_name("process_scenarios.py")
    command = [str(TORCHRUN), *options, str(script), str(folder), *names]
    strict = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error::FutureWarning", "GLOO_SOCKET_IFNAME": "lo"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **strict})
    assert ended.returncode == 0, ended.stderr[-3000:]
    results = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(processes)]
    for name in names:
        for rank, result in enumerate(results):
            assert "failed" not in result[name], f"{name} in rank {rank}:\n{result[name]['failed']}"
    return results


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return together(2, tmp_path_factory.mktemp("two"), tuple(SCENARIOS))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return together(3, tmp_path_factory.mktemp("three"), THREE)


@cache
def one(name: str) -> Any:
    """The same scenario in this process alone."""
    return json.loads(json.dumps(SCENARIOS[name]()))


def figures(line: Mapping[str, Any]) -> dict[str, float]:
    flat = {k: v for k, v in line.items() if isinstance(v, float)}
    return flat | {f"{k} {name}": value for k, v in line.items() if isinstance(v, dict) for name, value in v.items()}


def check_close(some: Mapping[str, Any], other: Mapping[str, Any], rel: float = 1e-5) -> None:
    """The same lines, figures and weights up to rounding."""
    assert [(line["step"], line["split"]) for line in some["lines"]] == [
        (line["step"], line["split"]) for line in other["lines"]
    ]
    for a, b in zip(some["lines"], other["lines"], strict=True):
        assert figures(a) == pytest.approx(figures(b), rel=rel, abs=rel)
    assert some["weights"].keys() == other["weights"].keys()
    for name, value in some["weights"].items():
        assert value == pytest.approx(other["weights"][name], rel=10 * rel, abs=rel), name
    assert (some["steps"], some["ended"], some["best"]) == (other["steps"], other["ended"], other["best"])


def check_agree(results: list[dict[str, Any]], name: str, *path: str) -> Any:
    """All processes ended with the same bits; the result of the first."""

    def found(result: Any) -> Any:
        for key in (name, *path):
            result = result[key]
        return result

    assert len({found(result)["digest"] for result in results}) == 1
    assert all(found(result)["lines"] == found(results[0])["lines"] for result in results)
    return found(results[0])


SAME = ["plain", "everything", "small_last_batches", "named", "turns", "normalised", "wrapped"]


@pytest.mark.parametrize("name", SAME)
def test_two_processes_train_as_one_does(two: list[dict[str, Any]], name: str) -> None:
    check_close(check_agree(two, name), one(name) if name != "wrapped" else wrapped_alone())


def wrapped_alone() -> Any:
    """Names of parameters inside of DDP begin with that of the module that it wraps."""
    alone = one("wrapped")
    lines = [
        line | {k: {f"module.{n}": v for n, v in line[k].items()} for k in line.keys() & {"update_ratio"}}
        for line in alone["lines"]
    ]
    return alone | {"lines": lines, "weights": {f"module.{n}": v for n, v in alone["weights"].items()}}


@pytest.mark.slow
def test_three_processes_train_as_one_does_though_a_batch_has_only_two_examples(three: list[dict[str, Any]]) -> None:
    check_close(check_agree(three, "small_last_batches"), one("small_last_batches"))


@pytest.mark.slow
def test_a_process_whose_first_batch_is_empty_learns_from_the_others_what_is_summed(
    three: list[dict[str, Any]],
) -> None:
    whole = check_agree(three, "resumed_at_a_small_batch", "whole")
    rest = check_agree(three, "resumed_at_a_small_batch", "rest")
    assert rest["digest"] == whole["digest"]
    assert rest["lines"] == [line for line in whole["lines"] if line["step"] > 4]
    check_close(whole, one("resumed_at_a_small_batch")["whole"])


@pytest.mark.slow
def test_a_table_that_is_given_stays_to_the_bit(two: list[dict[str, Any]], three: list[dict[str, Any]]) -> None:
    for results in (two, three):
        assert check_agree(results, "constant")["weights"]["table"] == one("constant")["weights"]["table"]


def test_processes_drop_other_units_and_resume_to_the_same_bits(two: list[dict[str, Any]]) -> None:
    whole, rest = (check_agree(two, "dropped", part) for part in ("whole", "rest"))
    assert rest["digest"] == whole["digest"]
    assert rest["lines"] == [line for line in whole["lines"] if line["step"] > 7]
    masks = [result["dropped"]["masks"] for result in two]
    assert len(masks[0]) == len(masks[1]) == 18 + 11
    drawn = [tuple(mask) for mask in masks[0][:18] + masks[1][:18]]
    assert len(set(drawn)) == 36  # other ones in every step and process
    assert all(mine[7:18] == mine[18:] for mine in masks)  # and the same again


def test_a_stream_that_draws_resumes_to_the_same_bits_though_only_the_first_process_saves(
    two: list[dict[str, Any]],
) -> None:
    whole, rest = (check_agree(two, "walked", part) for part in ("whole", "rest"))
    assert rest["digest"] == whole["digest"]
    assert rest["lines"] == [line for line in whole["lines"] if line["step"] > 7]


def test_batch_normalisation_over_all_sees_the_parts_of_all_at_once(two: list[dict[str, Any]]) -> None:
    """Other examples come together than in one process, so that it is another training."""
    together, alone = check_agree(two, "normalised_in_parts"), one("normalised_in_parts")
    assert together["lines"][-1]["loss"] == pytest.approx(alone["lines"][-1]["loss"], rel=0.5)


def test_batch_normalisation_that_keeps_no_means_is_judged_by_its_batch(two: list[dict[str, Any]]) -> None:
    def trained(result: Any) -> list[float]:
        return [line["loss"] for line in result["lines"] if line["split"] == "train"]

    together = check_agree(two, "normalised_without_memory")
    assert trained(together) == pytest.approx(trained(one("normalised_without_memory")), rel=1e-5)


def test_batch_normalisation_over_all_works_in_mixed_precision(two: list[dict[str, Any]]) -> None:
    together, alone = check_agree(two, "normalised_in_half"), one("normalised_in_half")
    assert [line["loss"] for line in together["lines"]] == pytest.approx(
        [line["loss"] for line in alone["lines"]], rel=0.02
    )


def test_batch_normalisation_by_itself_in_each_is_another_training_with_the_same_bits_in_all(
    two: list[dict[str, Any]],
) -> None:
    together, alone = check_agree(two, "normalised_by_itself"), one("normalised_by_itself")
    assert together["lines"][-1]["loss"] != pytest.approx(alone["lines"][-1]["loss"], rel=1e-5)
    assert together["lines"][-1]["loss"] == pytest.approx(alone["lines"][-1]["loss"], rel=0.5)


def test_what_any_process_asks_for_all_do_after_the_same_step(two: list[dict[str, Any]]) -> None:
    """The last asks, after steps 3, 5 and 9; it is heard along with the gradients of the next."""
    result = check_agree(two, "asked")
    lines = [(line["step"], line["split"], line.get("request")) for line in result["lines"]]
    assert lines == [
        (0, "train-sample", None),
        (0, "validation", None),
        (4, "request", "lr"),
        (6, "request", "evaluate"),
        (6, "train-sample", None),
        (6, "validation", None),
    ]
    assert (result["steps"], result["ended"]) == (10, "interrupted")


def test_an_evaluation_that_draws_does_not_part_the_processes(two: list[dict[str, Any]]) -> None:
    result = check_agree(two, "moody")
    assert result["ended"] == "patience"
    assert all(line["loss"] < 1 for line in result["lines"] if line["split"] == "validation")  # those of the first


def test_what_went_wrong_in_the_part_of_one_process_is_told_by_all(two: list[dict[str, Any]]) -> None:
    said = {result["diverged"]["error"] for result in two}
    assert len(said) == 1
    assert "in step 6 (epoch 1): the output of 0 (Linear) is the first that is not finite" in said.pop()
    assert {result["diverged"]["step"] for result in two} == {5}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lbfgs", "train.optimizer=lbfgs searches in one process"),
        ("a small batch", "A batch of 1 example cannot be shared by {count} processes: raise train.batch_size."),
        ("parts of one", "one example at a time: raise train.batch_size or set train.sync_batch_norm=true."),
        ("a last part of one", "one example at a time"),
        ("parts of parts of one", "raise train.batch_size or lower train.accumulate or set train.sync_batch_norm=true"),
    ],
)
def test_what_several_processes_cannot_do_is_refused_in_all_of_them(
    two: list[dict[str, Any]], three: list[dict[str, Any]], name: str, says: str
) -> None:
    for results in (two, three):
        for result in results:
            assert says.format(count=len(results)) in result["refusals"][name]


def test_batch_normalisation_over_all_needs_every_process_in_every_part(three: list[dict[str, Any]]) -> None:
    for result in three:
        said = result["refusals"]
        assert "A batch of 2 examples cannot be shared by 3 processes: raise" in said["a small last batch"]
        assert "4 examples cannot be shared by 3 processes in 2 parts each: raise" in said["unequal parts"]


def expected(rank: int, count: int) -> dict[str, Any]:
    """What `exchanges` gives."""
    ranks, shares = range(count), {1: [7], 2: [4, 3], 3: [3, 2, 2]}[count]
    start = sum(shares[:rank])
    refused = ["The disk is full.", True, 2]
    differ = f"The processes do not have the same recipe: rank {count - 1} differs from rank 0."
    return {
        "every": [{"rank": r, "text": "x" * r, "none": None, "nan": float("inf")} for r in ranks],
        "first": [0, "made"],
        "sums": [sum(ranks), count * 0.5],
        "named sums": {"b": sum(ranks), "a": count},
        "merged": [float(i) for r in ranks for i in range(r + 1)] if count > 1 else [],
        "share": list(range(start, start + shares[rank])),
        "small share": [0],
        "no share": [1, 2, 3, 4, 5],
        "said": [refused, differ] if count > 1 else [["The disk is full.", False, 2]],
    }


@pytest.mark.parametrize("count", [1, 2, 3])
def test_processes_tell_each_other_what_they_have(request: pytest.FixtureRequest, count: int) -> None:
    give: dict[int, Callable[[], list[Any]]] = {
        1: lambda: [{"exchanges": one("exchanges")}],
        2: lambda: request.getfixturevalue("two"),
        3: lambda: request.getfixturevalue("three"),
    }
    for rank, result in enumerate(give[count]()):
        got = result["exchanges"]
        if count > 1:
            assert got["said"][1][1:] == [True, 2]
            got["said"][1] = got["said"][1][0].partition(" Give")[0]
        assert got == expected(rank, count)


def test_observers_of_fit_watch_the_first_process_with_and_without_a_folder(two: list[dict[str, Any]]) -> None:
    for results in ([r["fit_without_folder"] for r in two], [r["fit_with_folder"]["new"] for r in two]):
        assert [r["watched"] for r in results] == [list(range(1, 13)), []]
        assert results[0]["digest"] == results[1]["digest"]
        assert results[0]["validation"] == results[1]["validation"]
        assert not any(r["training"] for r in results)


def test_fit_makes_one_folder_for_all_processes_which_goes_on_in_all(two: list[dict[str, Any]]) -> None:
    first, second = (r["fit_with_folder"] for r in two)
    for key in ("losses", "validation", "digest"):
        assert first["new"][key] == second["new"][key] == first["again"][key] == second["again"][key]
    assert first["again"]["watched"] == []  # finished: nothing is trained


def test_all_processes_refuse_a_folder_that_one_of_them_refuses(two: list[dict[str, Any]]) -> None:
    first, second = (r["fit_with_folder"] for r in two)
    for key, says in {
        "other plan": "begun with epochs=2, and this call has 3",
        "other data": "are not the ones it began with",
        "each its own data": "The processes do not have the same data",
    }.items():
        assert says in first[key]["refused"]
        assert first[key] == second[key]
    assert first["folders"] == ["run"]
