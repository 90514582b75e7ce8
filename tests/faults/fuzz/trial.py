"""One malformed input tried in this process: which of the things that must never happen did happen?"""

import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from families import CACHED, FAMILIES, SHORT, Attempt, cached
from PIL import Image

from gradlab.cli import main
from gradlab.errors import GradlabError

CPU_SECONDS = 40  # of one input, which takes a tenth of a second: a hang on any machine
MEMORY = 8 * 2**30
LONGEST = 8_000  # characters of a message
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
CODES = (0, 1, 2, 130)


@dataclass(frozen=True)
class Failure:
    family: str
    seed: int
    kind: str
    """traceback, hang, exit code, output, result or crash"""
    words: str

    def __str__(self) -> str:
        return f"{self.family}:{self.seed} {self.kind}: {self.words}"


class Hang(BaseException):
    """Longer than any input may take."""


def prepare(home: Path) -> None:
    """Sound things, which the families damage: files, a run of each kind of data, their cache, saved models."""
    rng = random.Random(0)
    rows = [[rng.gauss(0, 1), rng.choice("uvw"), rng.randrange(9), rng.choice(["yes", "no"])] for _ in range(40)]
    (home / "table.csv").write_text("a,b,c,y\n" + "\n".join(",".join(map(str, row)) for row in rows))
    for colour in ("blue", "red"):
        (home / "pictures" / colour).mkdir(parents=True)
        for i in range(6):
            pixels = np.random.default_rng(i).integers(0, 255, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(home / "pictures" / colour / f"{i}.png")
    (home / "text.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 40)
    with _in(home, home / "cache"):
        for kind in CACHED:
            _sound(*cached(kind, home), f"--out={home / f'{kind}-run'}")
        _sound("train", "iris-softmax", *SHORT, f"--out={home / 'run'}")
    _save_models(home)


def _sound(*arguments: str) -> None:
    code, _, errors = _run(Attempt("sound", arguments))
    assert code == 0, (arguments, errors)


def _save_models(home: Path) -> None:
    import gradlab as gl

    x, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    gl.Classifier(hidden=(4,), epochs=1, random_state=0).fit(x, y).save(home / "estimator")
    gl.save_pretrained(gl.load_run(home / "text-run"), home / "pretrained")


@contextmanager
def _in(folder: Path, cache: Path) -> Iterator[None]:
    """Work in a folder, with a cache and temporary files of its own and no more memory than it may need."""
    before = Path.cwd(), os.environ.get("GRADLAB_CACHE"), tempfile.tempdir
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    os.chdir(folder)
    os.environ["GRADLAB_CACHE"] = str(cache)
    tempfile.tempdir = str(folder)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        os.chdir(before[0])
        os.environ.pop("GRADLAB_CACHE") if before[1] is None else os.environ.update(GRADLAB_CACHE=before[1])
        tempfile.tempdir = before[2]


def _run(attempt: Attempt) -> tuple[int, str, str]:
    """Exit code, standard output and standard error; what is raised passes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape") for _ in range(2))
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            if attempt.call is not None:
                attempt.call()
            else:
                main(list(attempt.arguments))
        except SystemExit as ended:
            code = ended.code or 0
        except GradlabError as error:
            print(error, file=sys.stderr)
            code = error.exit_code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", errors="surrogateescape"))  # type: ignore[attr-defined]
    return code, texts[0], texts[1]


def attempt(family: str, seed: int, home: Path, folder: Path) -> Failure | None:
    """Draw the input of a seed, try it, and say what went wrong, if anything did."""
    folder.mkdir()

    def failed(kind: str, words: str) -> Failure:
        arguments = " ".join(drawn.arguments)[:300] if drawn else ""
        return Failure(family, seed, kind, f"{drawn.words if drawn else ''} [{arguments}] {words}")

    def stop(number: int, frame: Any) -> None:
        raise Hang

    drawn: Attempt | None = None
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        drawn = FAMILIES[family](random.Random(f"{family}:{seed}"), home, folder)
        with _in(folder, folder / "cache"):
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
            try:
                code, out, errors = _run(drawn)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            return _judged(drawn, code, out, errors, folder, failed)
    except Hang:
        return failed("hang", "".join(traceback.format_exc().splitlines()[-3:]))
    except Exception:
        return failed("traceback", " | ".join(traceback.format_exc().splitlines()[-5:]))
    finally:
        signal.signal(signal.SIGVTALRM, before)
        shutil.rmtree(folder, ignore_errors=True)


def _judged(drawn: Attempt, code: int, out: str, errors: str, folder: Path, failed: Any) -> Failure | None:
    if code == 70:
        log = next(folder.glob("gradlab-*.log"), None)
        lines = log.read_text().splitlines()[-4:] if log else []
        return failed("traceback", f"{errors[-300:]} {' | '.join(lines)}")
    if "Traceback (most recent call last)" in errors + out:
        return failed("traceback", errors[-500:])
    if code not in CODES:
        return failed("exit code", f"{code}: {errors[-300:]}")
    if code and not errors.strip():
        return failed("output", f"exit code {code} without a word")
    raw = "generate" in drawn.arguments[:1]  # what a model writes is not ours when no terminal shows it
    if found := _CONTROL.search(errors + ("" if raw else out)):
        return failed("output", f"control character {found.group()!r}")
    if longest := max(map(len, errors.splitlines()), default=0) > LONGEST:
        return failed("output", f"a message of {longest} characters")
    if "--json" in drawn.arguments and out.strip():
        try:
            json.loads(out, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
        except ValueError as error:
            return failed("output", f"--json printed {out[:200]!r}: {error}")
    if drawn.test is not None and code == 0:
        test = json.loads((folder / "r" / "result.json").read_text())["test"]
        if test != drawn.test:
            return failed("result", f"{test} instead of {drawn.test}")
    return None
