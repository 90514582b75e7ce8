"""`gradlab bench`: commands with their own options, refusals before anything starts, and tables that tell all."""

import io
import re
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused
from rich.console import Console

from gradlab.bench.attention.lengths import MECHANISMS, Growth, Point
from gradlab.bench.language.predicting import Learned
from gradlab.cli.benchmarks.attention import show_attention
from gradlab.cli.benchmarks.language import show_language

BENCHES = [
    "train",
    "start",
    "attention",
    "context",
    "vision",
    "language",
    "seq2seq",
    "vae",
    "rl",
    "diffusion",
    "memory",
    "compile",
    "precision",
]


@pytest.mark.parametrize("name", BENCHES)
def test_each_benchmark_has_its_own_help_with_an_example(quick: ForkServer, tmp_path: Path, name: str) -> None:
    assert f" {name} " in quick("bench", "--help", cwd=tmp_path).out
    ended = quick("bench", name, "--help", cwd=tmp_path)
    assert ended.code == 0
    assert f"gradlab bench {name}" in ended.out.partition("Example")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "digit"], ["no case 'digit'", "Did you mean 'digits'"]),
        (["digits", "--rounds", "0"], ["at least one round"]),
        (["train", "digit", "--against", "."], ["Did you mean 'digits'"]),
        (["train", "digits", "--against", ".", "--rounds", "0"], ["at least one round"]),
        (["train", "digits", "--against", "nowhere"], ["nowhere is not a folder"]),
        (["train", "digits", "--against", "."], ["not a checkout of gradlab: it has no src/gradlab"]),
        (["precision", "gpt"], ["no case 'gpt'"]),
        (["attention", "sofmax"], ["no kind of attention 'sofmax'"]),
        (["attention", "--memory", "0"], ["must be positive"]),
        (["attention", "--rounds", "3"], ["--rounds"]),
        (["attention", "--out", "/dev/null/pictures"], ["/dev/null/pictures cannot be written"]),
        (["context", "--attention", "sofmax"], ["no kind of attention 'sofmax'"]),
        (["context", "1000"], ["must divide the 4,096 tokens of a step", "1,000 does not"]),
        (["context", "4096", "--device", "cuda"], ["--device cuda was asked for"]),
        (["cuda"], ["--device cuda was asked for"]),
        (["train", "digits", "--device", "cuda"], ["On a GPU, bench train has no cases"]),
        (["decode", "--device", "cuda", "--tokens", "1"], ["tokens must be at least 3, got 1"]),
        (["vision", "mnist-lenett"], ["no recipe in this benchmark 'mnist-lenett'", "Did you mean 'mnist-lenet'"]),
        (["vision", "mnist-lenet", "--data", "nowhere"], ["nowhere is not a folder"]),
        (["vision", "--seeds", "0"], ["--seeds must be at least 1, got 0"]),
        (["vision", "--rounds", "0"], ["at least one round"]),
        (["vision", "--model", "resnet21"], ["no model 'resnet21'", "Did you mean"]),
        (["vision", "--model", "gpt"], ["model=gpt takes"]),
        (["vision", "--device", "cuda"], ["--device cuda was asked for"]),
        (["vae", "--rounds", "0"], ["at least one round"]),
        (["rl", "--seeds", "0"], ["at least one seed"]),
        (["rl", "cartpole"], ["cartpole-ppo"]),
        (["diffusion", "--rounds", "0"], ["at least one round"]),
        (["diffusion", "--device", "cuda"], ["--device cuda was asked for"]),
        (["diffusion", "--samples", "100"], ["--samples is of a run", "gradlab bench diffusion RUN"]),
        (["diffusion", "--classifier", "digits"], ["--classifier is of a run", "gradlab bench diffusion RUN"]),
        (["diffusion", "nowhere"], ["nowhere is not a folder"]),
        (["seq2seq", "date"], ["no part of this benchmark 'date'", "Did you mean 'dates'"]),
        (["seq2seq", "speed", "--rounds", "0"], ["at least one round"]),
        (["seq2seq", "speed", "--pairs", "0"], ["--pairs must be at least 1, got 0"]),
        (["seq2seq", "speed", "--data", "nowhere.tsv"], ["nowhere.tsv is no file", "--data PAIRS.tsv"]),
        (["seq2seq", "copy", "--steps", "0"], ["--steps must be at least 1, got 0"]),
        (["memory", "recal"], ["no memory task 'recal'", "Did you mean 'recall'"]),
        (["memory", "--delays", "1"], ["A delay must be at least 2, got 1"]),
        (["memory", "--steps", "0"], ["--steps must be at least 1, got 0"]),
        (["memory", "--out", "/dev/null/pictures"], ["/dev/null/pictures cannot be written"]),
        (["language", "pydoc-gtp"], ["Did you mean 'pydoc-gpt'"]),
        (["language", "--minutes", "-1"], ["--minutes must be positive"]),
    ],
)
def test_bad_requests_are_refused(quick: ForkServer, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    check_refused(quick("bench", *arguments, cwd=tmp_path), *words)


def test_one_length_is_measured_and_told_as_json(quick: ForkServer, tmp_path: Path) -> None:
    told = "--longest", "256", "--json", "--out", "pictures"
    ended = quick("bench", "attention", "linear", *told, cwd=tmp_path)
    assert ended.code == 0, ended.err
    (growth,) = ended.json["results"]
    assert growth["mechanism"] == "linear"
    (point,) = growth["points"]
    assert point["length"] == 256
    assert point["milliseconds"] > 0
    written = ["pictures/step-time.svg", "pictures/step-memory.svg"]
    assert ended.err.splitlines() == ["linear: 256 tokens", *(f"Written: {name}" for name in written)]
    assert all((tmp_path / name).read_text().startswith("<svg") for name in written)


def test_memory_is_measured_at_a_delay_and_drawn(quick: ForkServer, tmp_path: Path) -> None:
    told = "--delays", "2", "--steps", "2", "--json", "--out", "pictures"
    ended = quick("bench", "memory", "recall", *told, cwd=tmp_path)
    assert ended.code == 0, ended.err
    (spans,) = ended.json["results"]
    assert (spans["data"], spans["delays"], spans["solved"]) == ("recall", [2], 0.9)
    assert [row["title"] for row in spans["rows"]] == ["RNN", "LSTM", "GRU", "transformer"]
    assert all(0 <= figure <= 1 for row in spans["rows"] for figure in row["figures"])
    assert ended.err.splitlines()[-1] == "Written: pictures/memory-recall.svg"
    assert (tmp_path / "pictures/memory-recall.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_a_file_of_pairs_is_trained_on_by_both_loops(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"one two {i}\teins zwei drei {i}\n" for i in range(24)))
    told = "--data", "pairs.tsv", "--pairs", "20", "--rounds", "1", "--threads", "1"
    ended = quick("bench", "seq2seq", "speed", *told, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    (trained,) = ended.json["results"]
    assert trained["title"].startswith("20 pairs of ")
    assert [row["title"] for row in trained["rows"]] == ["gradlab", trained["reference"]]
    assert trained["rows"][1]["ratio"] == 1.0


def printed(show, found):
    screen = Console(file=io.StringIO(), width=100)
    show(screen, found)
    return screen.file.getvalue()


def test_lengths_without_memory_and_lengths_not_tried_are_told_apart():
    def growth(name, ended, milliseconds):
        points = [Point(length=256 * 2**i, milliseconds=m, mebibytes=m) for i, m in enumerate(milliseconds)]
        title, exponents = MECHANISMS[name], {"time_exponent": 1.96, "memory_exponent": None}
        return Growth(mechanism=name, title=title, points=points, ended=ended, **exponents)

    text = printed(
        show_attention, [growth("written-out", "memory", [4.0, None]), growth("linear", "length", [1.0, 2.0, 1234.5])]
    )
    times = text.partition("MiB")[0]
    rows = {line.split()[0]: re.split(r"\s{2,}", line.strip())[1:] for line in times.splitlines() if line.strip()}
    assert rows["256"] == ["4.0", "1.0"]
    assert rows["512"] == ["out of memory", "2.0"]
    assert rows["1,024"] == ["–", "1,234"]
    assert rows["exponent"] == ["1.96", "1.96"]
    assert "softmax, written out: out of memory at 512 tokens." in text


def test_what_a_recipe_reached_stands_beside_what_it_had():
    values = {"parameters": 1_086_017, "steps": 512, "tokens": 2_100_000, "seconds": 118.2}
    text = printed(show_language, [Learned(recipe="pydoc-gpt", bits_per_byte=1.7648, perplexity=3.398, **values)])
    row = next(line for line in text.splitlines() if "pydoc-gpt" in line)
    assert re.split(r"\s{2,}", row.strip())[1:] == ["1.765", "3.40", "1.09 M", "512", "2.1 M", "1 min 58 s"]
