"""Pairs of one's own: trained, evaluated, asked, looked into, stopped and gone on with, as a user would."""

import json
import signal
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_same, gradlab, signal_after

WORDS = ["red", "blue", "green", "big", "small", "cat", "dog", "bird"]
SMALL = ["data.tokenizer=word", "data.shared=false", "task.beam=2", "train.lr=1e-2", "train.schedule=constant"]
RNN = ["model=seq2seq-rnn", "model.dim=16", "model.hidden=32", "model.cell=gru"]
TRANSFORMER = ["model.dim=16", "model.heads=2", "model.layers=1", "model.hidden=32", "model.dropout=0.1"]


def sentences(count: int) -> list[tuple[str, str]]:
    """A few words, and the same ones backwards in capitals."""
    made = []
    for i in range(count):
        words = [WORDS[(i * 5 + k * (1 + i % 3)) % 8] for k in range(1 + i % 4)]
        made.append((" ".join(words), " ".join(word.upper() for word in words[::-1])))
    return made


(ONE, SAID), (OTHER, SAID_OF_OTHER) = [pair for pair in sentences(160) if pair[0].count(" ") == 1][:2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pairs")
    pairs = sentences(160)
    (made / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    for name, side in (("source", 0), ("target", 1)):
        (made / f"{name}.txt").write_text("".join(pair[side] + "\n" for pair in pairs))
    return made


@pytest.fixture(scope="module")
def run(quick: ForkServer, folder: Path) -> Path:
    trained = [*SMALL, *RNN, "train.epochs=20", "train.batch_size=16"]
    ended = quick("train", "translate", "--data", "pairs.tsv", *trained, "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["exact_match"] > 0.8
    assert ended.json["test"]["bleu"] > 50
    return folder / "run"


def test_a_run_is_evaluated_on_its_own_and_on_new_pairs(quick: ForkServer, run: Path, folder: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    shown = quick("evaluate", "run", "--json", cwd=folder).json
    assert {name: shown[name] for name in result["test"]} == result["test"]
    assert shown["signatures"] == result["signatures"]
    assert result["signatures"]["bleu"].startswith("nrefs:1|case:mixed")
    (folder / "new.tsv").write_text(f"{ONE}\t{SAID}\n{OTHER}\tsomething else\n")
    new = quick("evaluate", "run", "--data", "new.tsv", "--json", cwd=folder).json
    assert (new["examples"], new["exact_match"]) == (2, 0.5)
    printed = quick("evaluate", "run", cwd=folder).out
    assert "exact_match" in printed
    assert "tok:13a" in printed


def test_new_sources_are_answered_in_every_form(quick: ForkServer, run: Path, folder: Path) -> None:
    (folder / "new.txt").write_text(f"{ONE}\n{OTHER}\n")

    def texts(*arguments: str) -> list[str]:
        ended = quick("predict", "run", *arguments, "--json", cwd=folder)
        assert ended.code == 0, ended.err
        return [one["text"] for one in ended.json["predictions"]]

    assert texts(ONE) == [SAID]
    assert texts("new.txt") == [SAID, SAID_OF_OTHER]
    assert texts(ONE, "--prefix", "BIRD")[0].startswith("BIRD")
    assert texts(ONE, "--beam", "1") == [SAID]
    table = quick("predict", "run", "new.txt", cwd=folder).out
    assert SAID_OF_OTHER in table
    assert "coverage" in table
    lines = quick("predict", "run", "new.txt", "--csv", cwd=folder).out.splitlines()
    assert lines[1:] == [f"new.txt:1,{SAID}", f"new.txt:2,{SAID_OF_OTHER}"]


def test_a_probe_shows_where_the_model_looked(quick: ForkServer, run: Path, folder: Path) -> None:
    seen = quick("probe", "run", ONE, "--json", cwd=folder).json
    assert seen["written"] == SAID
    assert seen["alignment"]["source"] == [*ONE.split(), "<eos>"]
    assert seen["alignment"]["target"] == [*SAID.split(), "<eos>"]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in seen["alignment"]["weights"])
    printed = quick("probe", "run", ONE, "--html", "seen.html", cwd=folder).out
    assert "Where it looked" in printed
    assert "Alignment" in (folder / "seen.html").read_text()
    assert quick("probe", "run", cwd=folder).code == 0
    assert "What it writes" in (run / "report.html").read_text()


FORMS = {"luong": RNN, "bahdanau": [*RNN, "model.form=bahdanau"], "transformer": TRANSFORMER}


@pytest.mark.parametrize("form", ["luong", pytest.param("bahdanau", marks=pytest.mark.slow), "transformer"])
def test_a_stopped_training_goes_on_to_the_same_bits(folder: Path, form: str, tmp_path: Path) -> None:
    sampled = [*SMALL, "task.scheduled_sampling=0.3", "task.ramp=2", "train.epochs=10", "train.batch_size=16"]
    options = ["--data", folder / "pairs.tsv", *sampled, *FORMS[form], "train.log_every=1"]
    whole = gradlab("train", "translate", *options, "--out", "whole", cwd=tmp_path)
    assert whole.code == 0, whole.err
    arguments = ["train", "translate", *options, "--out", "run"]
    check_refused(signal_after(signal.SIGINT, tmp_path / "run", 20, *arguments, cwd=tmp_path), "resume run", code=130)
    resumed = gradlab("resume", "run", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    check_same(tmp_path / "whole", tmp_path / "run")


def test_pairs_are_shown_before_anything_is_trained(quick: ForkServer, folder: Path) -> None:
    shown = quick("data", "show", "pairs", "--data", "pairs.tsv", "tokenizer=word", "--out", "look.html", cwd=folder)
    assert f"{sentences(1)[0][0]} → {sentences(1)[0][1]}" in shown.out
    assert "320" in shown.out  # lines of both sides
    assert (folder / "look.html").exists()


def test_two_files_are_trained_on_and_the_run_knows_where_they_are(quick: ForkServer, folder: Path) -> None:
    files = ["data.source_file=source.txt", "data.target_file=target.txt"]
    arguments = [*files, *SMALL, *TRANSFORMER, "train.steps=5", "--out", "two", "--json"]
    assert quick("train", "translate", *arguments, cwd=folder).code == 0
    (folder / "elsewhere").mkdir()
    assert quick("evaluate", folder / "two", "--json", cwd=folder / "elsewhere").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "translate"], "Where are the pairs"),
        (["train", "translate", "--data", "nothing.tsv"], "is no file"),
        (["train", "translate", "data.source_file=source.txt", "data.target_file=short.txt"], "160 lines"),
        (["train", "translate", "--data", "gap.tsv"], "line 2: the target is empty"),
        (["train", "translate", "--data", "one.tsv"], "line 1: there is no tab"),
        (["train", "translate", "--data", "pairs.tsv", "data.context=3"], "Set data.context="),
        (["train", "translate", "--data", "pairs.tsv", "data.columns=[de,en]"], "no column"),
        (["train", "translate", "--data", "pairs.tsv", "model=mlp"], "model=mlp takes"),
        (["train", "translate", "--data", "pairs.tsv", "task=classify"], "task=seq2seq"),
        (["predict", "run", "red " * 200], "tokens, and the model reads"),
        (["predict", "run", "missing.txt"], "no file here"),
        (["predict", "run", "red cat", "--threshold", "0.5"], "threshold"),
        (["predict", "run", "red cat", "--prefix", "zebra"], "does not have the words 'zebra'"),
        (["predict", "run", "red cat", "--beam", "0"], "size"),
        (["generate", "run", "--prompt", "red"], "Use gradlab predict run"),
    ],
)
def test_what_a_user_got_wrong_is_one_message(
    quick: ForkServer, run: Path, folder: Path, arguments: list[str], words: str
) -> None:
    (folder / "short.txt").write_text("one\n")
    (folder / "gap.tsv").write_text("a\tb\nc\t\n")
    (folder / "one.tsv").write_text("no tab here\n")
    check_refused(quick(*arguments, cwd=folder), words)
