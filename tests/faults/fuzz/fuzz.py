"""Try malformed inputs: python tests/faults/fuzz/fuzz.py [--inputs 20000] [--families a,b] [--seeds 17,18].

Each is drawn from its family and its number, so that what is printed as failed can be tried again by it.
"""

import argparse
import collections
import contextlib
import itertools
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from families import FAMILIES, count_inputs
from sound import prepare
from trial import Failure, attempt

KINDS = ("traceback", "hang", "exit code", "output", "result", "write", "crash")
_TOGETHER = 200  # inputs that one process tries
_SECONDS = 600  # without an answer, also where no code of Python runs that could be interrupted
Inputs = list[tuple[str, int]]


def try_all(inputs: Inputs, home: Path, work: Path, results: Connection) -> None:
    """In a process of its own: sends what became of each."""
    for family, seed in inputs:
        results.send(attempt(family, seed, home, work / f"{family}-{seed}"))


def failures_of(inputs: Inputs, home: Path, work: Path) -> Iterator[Failure | None]:
    """What became of each, also of one that ends its process."""
    while inputs:
        results, sender = Pipe(duplex=False)
        process = get_context("spawn").Process(target=try_all, args=(inputs, home, work, sender))
        process.start()
        sender.close()
        done = 0
        with contextlib.suppress(EOFError):
            while done < len(inputs) and results.poll(_SECONDS):
                yield results.recv()
                done += 1
        if done < len(inputs) and process.is_alive():
            process.kill()
        process.join()
        if done < len(inputs):
            yield Failure(*inputs[done], "crash", f"exit code {process.exitcode}")
            done += 1
        inputs = inputs[done:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seeds", default="", help="these alone, of the families that are named")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input of each family")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    families = asked.families.split(",")
    each = -(-asked.inputs // len(families))
    named = [int(seed) for seed in asked.seeds.split(",")] if asked.seeds else None
    seeds = {family: named or range(asked.first, asked.first + count_inputs(family, each)) for family in families}
    inputs = sorted(((family, seed) for family in families for seed in seeds[family]), key=lambda pair: pair[1])
    parts = [inputs[i : i + _TOGETHER] for i in range(0, len(inputs), _TOGETHER)]
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        prepare(home, families)
        counts = collections.Counter[tuple[str, str]]()
        tried = itertools.count(1)

        def look_at(part: Inputs) -> None:
            for failure in failures_of(part, home, work):
                if failure is not None:
                    counts[failure.family, failure.kind] += 1
                    print(failure, flush=True)
                print(f"\r{next(tried):,} of {len(inputs):,}", end="", file=sys.stderr)

        with ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(look_at, parts))
    print(f"\n{'family':<14} {'inputs':>7} " + " ".join(f"{kind:>10}" for kind in KINDS))
    for family in [*families, "all"]:
        tried = len(inputs) if family == "all" else len(seeds[family])
        row = [sum(n for (f, k), n in counts.items() if k == kind and family in (f, "all")) for kind in KINDS]
        print(f"{family:<14} {tried:>7,} " + " ".join(f"{n:>10,}" for n in row))
    sys.exit(1 if counts else 0)


if __name__ == "__main__":
    main()
