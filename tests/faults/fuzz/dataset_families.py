"""Families of data that lie in several files or columns with roles: graphs, pairs, series, captions."""

import random
import shutil
from pathlib import Path

from attempt import SHORT, Attempt, argv
from damage import TEXTS, broken_bytes, number, text, value
from sound import TRAININGS

_COLUMNS = ["name", "group", "x", "from", "to", "day", "store", "sold", "file", "caption", "missing", ""]
_DATES = [
    "2025-01-01", "2025-02-30", "0000-00-00", "9999-12-31", "1e400", "2025-01-01T00:00:00+14:00", "01/02/2025", "noon",
    "-1", "2025-W01", "20250101", "1900-01-01 25:61",
]  # fmt: skip
_NAMES = ["../0.png", "/etc/passwd", "0.png", "missing.png", "", ".", "a\x00b", "x" * 300, "captions.csv", "n1", "n999"]
_KNOBS = {
    "graph": ["data.level=edge", "data.level=graph", "data.node_features=identity", "data.node_features=degree",
              "data.directed=true", "data.labels=1", "data.labels=999", "model=gcn", "model=gat", "data.levels=1"],
    "pairs": ["data.tokenizer=bpe", "data.tokenizer=byte", "data.tokenizer=char", "data.shared=true",
              "data.validation=0", "data.test=0", "task.beam=3", "data.context=1", "data.columns=1,1"],
    "series": ["data.horizon=1000", "data.history=1", "data.history=100000", "data.known=store", "data.covariates=sold",
               "data.series=day", "model=series-transformer", "data.season=7", "data.test=0"],
    "captions": ["data.size=1", "data.size=16384", "data.colour=grey", "data.resize=pad", "data.tokenizer=char",
                 "data.context=1", "data.separator=|", "data.validation=0"],
}  # fmt: skip
_ROLES = {
    "graph": ["target", "node", "graph", "source", "destination", "drop", "categories"],
    "pairs": ["source_file", "target_file", "columns", "reconstruct", "longer"],
    "series": ["time", "target", "series", "known", "covariates"],
    "captions": ["file", "caption"],
}


def graphs(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Nodes and edges: tables that are damaged, names of no node, loops, columns in roles that they cannot have."""
    return _dataset(rng, "graph", home, here)


def pairs(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Pairs of sentences: damaged, empty, of one side, in two files of different lengths."""
    if rng.random() < 0.3:
        for name in ("s.txt", "t.txt"):
            lines = [text(rng) if rng.random() < 0.3 else "the cat sat" for _ in range(rng.choice([0, 1, 12, 30]))]
            (here / name).write_bytes("\n".join(lines).encode(errors="surrogatepass"))
        files = ("data.source_file=s.txt", "data.target_file=t.txt")
        return Attempt("two files of sentences", argv(["train", "translate", *files, *_knobs(rng, "pairs"), *SHORT]))
    return _dataset(rng, "pairs", home, here)


def series(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Series: times that are doubled, missing, out of order or none, values that are no numbers, knobs beyond them."""
    return _dataset(rng, "series", home, here)


def captions(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Images with captions: files that are missing or damaged, names outside the folder, captions without a word."""
    return _dataset(rng, "captions", home, here)


def _dataset(rng: random.Random, kind: str, home: Path, here: Path) -> Attempt:
    recipe, data, *knobs = TRAININGS[kind]
    source = home / data
    shutil.copytree(source.parent, here / "d") if "/" in data else (here / "d").mkdir()
    path = Path(shutil.copy(source, here / "d"))
    others = sorted(other for other in (here / "d").iterdir() if other != path)
    damaged = rng.choice([path, path, *others[:2]])
    if damaged.suffix == ".png":
        damaged.write_bytes(broken_bytes(rng, damaged.read_bytes()))
    elif rng.random() < 0.85:
        _break_table(rng, damaged)
    knobs = [knob.replace("=graph/", "=d/") for knob in knobs] + _knobs(rng, kind)
    if rng.random() < 0.25:
        run = str(home / f"{kind}-run")
        command = rng.choice(
            [["evaluate", run, f"--data=d/{path.name}"], ["predict", run, f"d/{damaged.name}", "--json"]]
        )
        return Attempt(f"new {kind}", argv(command))
    return Attempt(
        f"{kind}, {damaged.name}", argv(["train", recipe, f"--data=d/{path.name}", *knobs, *SHORT, "--out=r"])
    )


def _knobs(rng: random.Random, kind: str) -> list[str]:
    """A knob of the data in a value that is unusual, or that it cannot have; mostly none."""
    draw = rng.random()
    if draw < 0.2:
        return [rng.choice(_KNOBS[kind])]
    if draw < 0.3:
        return [f"data.{rng.choice(_ROLES[kind])}={rng.choice([*_COLUMNS, value(rng)])}"]
    if draw < 0.4:
        return [f"{rng.choice(_KNOBS[kind]).split('=')[0]}={value(rng)}"]
    return []


def _break_table(rng: random.Random, path: Path) -> None:
    """Damage a table: its bytes, some of its cells, its rows or its first line."""
    content = path.read_bytes()
    kind = rng.randrange(7)
    if kind == 0:
        path.write_bytes(broken_bytes(rng, content))
        return
    separator = "\t" if path.suffix == ".tsv" else ","
    rows = [line.split(separator) for line in content.decode().splitlines()]
    for _ in range(rng.choice([0, 1, 1, 8])):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice([number(rng), text(rng), rng.choice(_DATES), rng.choice(_NAMES), ""])
    if kind == 1:
        rows = rows[: rng.randrange(4)]
    elif kind == 2:
        rng.shuffle(rows)
    elif kind == 3:
        rows += rng.choices(rows, k=rng.choice([1, 40]))
    elif kind == 4:
        column, cell = rng.randrange(len(rows[0])), rng.choice([*TEXTS, "1"])
        for row in rows[1:]:
            row[min(column, len(row) - 1)] = cell
    elif kind == 5:
        rows[rng.randrange(len(rows))] += ["1"] * rng.choice([1, 3000])
    ending = rng.choice(["\n", "\n", "\r\n", "\r"])
    joined = ending.join(rng.choice([separator] * 60 + [";", " "]).join(row) for row in rows)
    path.write_bytes(joined.encode(rng.choice(["utf-8"] * 8 + ["utf-16", "latin-1"]), errors="replace"))
