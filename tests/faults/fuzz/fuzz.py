"""Try malformed inputs: python tests/faults/fuzz/fuzz.py [--inputs 20000] [--families a,b] [--seeds 17,18].

Each is drawn from its family and its number, so that what is printed as failed can be tried again by it.
"""

import argparse
import collections
import sys
import tempfile
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from families import FAMILIES
from trial import Failure, attempt, prepare

KINDS = ("traceback", "hang", "exit code", "output", "result")
_TOGETHER = 25


def try_all(inputs: list[tuple[str, int]], home: Path, work: Path) -> list[Failure]:
    failures = [attempt(family, seed, home, work / f"{family}-{seed}") for family, seed in inputs]
    return [failure for failure in failures if failure is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seeds", default="", help="these alone, of the families that are named")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    families = asked.families.split(",")
    seeds = [int(s) for s in asked.seeds.split(",")] if asked.seeds else range(asked.inputs // len(families))
    inputs = [(family, seed) for seed in seeds for family in families]
    parts = [inputs[i : i + _TOGETHER] for i in range(0, len(inputs), _TOGETHER)]
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        prepare(home)
        counts = collections.Counter[tuple[str, str]]()
        with get_context("spawn").Pool(asked.jobs, maxtasksperchild=8) as pool:
            for number, failures in enumerate(pool.imap(partial(try_all, home=home, work=work), parts), 1):
                for failure in failures:
                    counts[failure.family, failure.kind] += 1
                    print(failure, flush=True)
                print(f"\r{min(number * _TOGETHER, len(inputs)):,} of {len(inputs):,}", end="", file=sys.stderr)
    print(f"\n{'family':<12} {'inputs':>7} " + " ".join(f"{kind:>10}" for kind in KINDS))
    for family in [*families, "all"]:
        tried = len(inputs) if family == "all" else len(seeds)
        row = [sum(n for (f, k), n in counts.items() if k == kind and family in (f, "all")) for kind in KINDS]
        print(f"{family:<12} {tried:>7,} " + " ".join(f"{n:>10,}" for n in row))
    sys.exit(1 if counts else 0)


if __name__ == "__main__":
    main()
