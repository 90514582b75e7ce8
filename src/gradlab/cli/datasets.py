"""`gradlab data`: what there is to learn from, and fetching what is public."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from gradlab.cli.output import console, print_json, say, table
from gradlab.cli.requests import read_overrides
from gradlab.cli.suggestions import kind_at, lacks_target, show_commands, show_table, source_and_path
from gradlab.cli.training import Json, Plain
from gradlab.printable import printable
from gradlab.wording import counted, quantity

if TYPE_CHECKING:
    from gradlab.data.graphs.overview import GraphOverview
    from gradlab.data.overview import Feature, Overview
    from gradlab.data.series.overview import SeriesOverview
    from gradlab.data.text.overview import TextOverview

_SHOWN = 40  # classes and columns that are printed

data = cyclopts.App(
    name="data",
    sort_key=4.5,  # after `recipes`
    help="""List the sources of data, look at one, and fetch public data sets.

    Examples to copy:

    - `gradlab data list`: every source, and where its data are
    - `gradlab data fetch mnist`: then `gradlab train mnist-lenet` finds it
    - `gradlab data show houses.csv`: what is in a file, and the commands that train on it
    """,
)

_WORDS = {
    "scikit-learn": "ships with scikit-learn",
    "generated": "generated",
    "python": "ships with Python",
    "cache": "in the cache",
    "web": "fetch it",
    "yours": "your own file",
}


@data.command(name="list", sort_key=0)
def list_sources(*, plain: Plain = False, as_json: Json = False) -> None:
    """List every source of data, what it is, and where it is.

    Examples to copy:

    - `gradlab data list`
    - `gradlab data list --json`: with the folders of those in the cache, and how many bytes there are to fetch
    """
    from gradlab.data import sources
    from gradlab.data.cache import cache_folder

    listing = {name: {"what": _summary(sources[name]), **_where(name)} for name in sources}
    if as_json:
        print_json(listing)
        return
    screen = console(plain)
    rows = ([name, source["what"], _WORDS[source["where"]]] for name, source in listing.items())
    screen.print(table("source", "what it is", "where it is", rows=rows))
    for name, source in listing.items():
        if source["where"] == "cache":
            say(screen, name, f"in the cache: {source['path']}, {_megabytes(source['bytes'])}")
    say(screen, "cache", f"{cache_folder()}; GRADLAB_CACHE moves it")
    say(screen, "fetch", "gradlab data fetch NAME")


@data.command(sort_key=1)
def fetch(name: str, /, *, to: str | None = None, plain: Plain = False, as_json: Json = False) -> None:
    """Fetch a public data set into the cache, where the recipes find it.

    Examples to copy:

    - `gradlab data fetch mnist`
    - `gradlab data fetch cifar10 --to data/cifar10`: then train with `--data data/cifar10`

    A download that breaks off goes on where it stopped when the command is given again. Every file is checked against
    its published SHA-256; one that is there and sound is not fetched again.

    Parameters
    ----------
    name
        What to fetch: mnist, fashion-mnist, cifar10 or cifar100.
    to
        The folder to put it in; default the cache.
    """
    from gradlab.data import sources
    from gradlab.data.public.fetching import DOWNLOADS
    from gradlab.data.public.fetching import fetch as fetch_files
    from gradlab.errors import GradlabError

    if name not in DOWNLOADS and name in sources:
        raise GradlabError(f"There is nothing to fetch for {name}: {_WORDS[_where(name)['where']]}.")
    screen = console(plain)
    folder = None if to is None else Path(to)
    if as_json:
        files = fetch_files(name, folder)
        listed = [{"file": str(f.path), "bytes": f.size, "fetched": f.fresh} for f in files]
        print_json({"data": name, "folder": str(files[0].path.parent), "files": listed})
        return
    with _shown(screen) as progress:
        files = fetch_files(name, folder, progress)
    for file in files:
        say(screen, "fetched" if file.fresh else "was there", f"{file.path}, {_megabytes(file.size)}")
    say(screen, "use it", f"gradlab train {_recipe_for(name)}{'' if to is None else f' --data {to}'}")


@data.command(sort_key=2)
def show(
    name: str | None = None,
    /,
    *overrides: str,
    path: Annotated[str | None, cyclopts.Parameter(name="--data")] = None,
    augment: Annotated[tuple[str, ...], cyclopts.Parameter(consume_multiple=True, negative="")] = (),
    out: str | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Look at data before training on them: sizes, classes, ranges, missing values, and a page with examples.

    A file or folder of your own is enough: its kind is recognized, and the commands are shown that train on it. Of a
    text: characters, words, tokens, the most common of them, the longest lines, and how it begins.

    Examples to copy:

    - `gradlab data show houses.csv`: columns and first rows
    - `gradlab data show houses.csv target=price`
    - `gradlab data show photos/ --out photos.html`
    - `gradlab data show digits`
    - `gradlab data show digits --augment rotate=15 cutout=3`: pictures before and after
    - `gradlab data show text --data book.txt tokenizer=word`
    - `gradlab data show graph --data nodes.csv edges=edges.csv target=team`
    - `gradlab data show series --data sales.csv time=day target=sold horizon=14`

    Parameters
    ----------
    name
        A file or folder, or a source; `gradlab data list` has those.
    overrides
        Values of the source's knobs, as `key=value`.
    path
        File or folder of the data, for sources that need one.
    augment
        How a training would change pictures from epoch to epoch, as `key=value` of `data.augment`.
    out
        The page to write; default `NAME-data.html`. Of a table there is one as soon as its target is named.
    """
    from gradlab.api import look_at_data
    from gradlab.data.graphs.overview import GraphOverview
    from gradlab.data.series.overview import SeriesOverview
    from gradlab.data.tables.summary import TableSummary
    from gradlab.data.text.overview import TextOverview
    from gradlab.registry import Part

    changes = {key.removeprefix("data."): value for key, value in read_overrides(overrides).items()}
    name, path = source_and_path(name, path or changes.get("path"))
    kind = kind_at(path, name)
    name = name or (kind.trainings[0].source if kind else "")
    commands = kind.commands(Path(path)) if kind and path else {}
    screen = console(plain)
    if kind and kind.table and lacks_target(kind, name, changes):
        summary = TableSummary.read(kind.table, changes.get("separator", "auto"), changes.get("encoding", "utf-8"))
        if as_json:
            print_json({"source": name, "path": path, **asdict(summary), "commands": commands})
            return
        show_table(screen, str(kind.table), summary)
        show_commands(screen, commands)
        return
    known = {key.removeprefix("data."): value for key, value in (kind.trainings[0].values if kind else {}).items()}
    values: dict[str, Any] = {**known, **({"path": path} if path is not None else {}), **changes}
    if augment:
        values["augment"] = Part("", read_overrides(augment))
    page = Path(out or f"{name}-data.html")
    title = Path(values["path"]).name if values.get("path") else name
    overview = look_at_data(name, values, page, title)
    if as_json:
        print_json({"source": name, **asdict(overview), "page": str(page), "commands": commands})
        return
    if isinstance(overview, TextOverview):
        show_text(screen, name, overview)
    elif isinstance(overview, GraphOverview):
        show_graphs(screen, name, overview)
    elif isinstance(overview, SeriesOverview):
        show_series(screen, name, overview)
    else:
        show_overview(screen, name, overview)
    say(screen, "page", str(page.absolute()))
    if "target" not in changes:
        show_commands(screen, commands)


def show_overview(screen: Console, name: str, overview: "Overview") -> None:
    """The figures of a source."""
    shape = "×".join(map(str, overview.shape))
    own = "".join(f", {count:,} {split}" for split, count in overview.splits.items())
    say(screen, "source", f"{name}: {overview.examples:,} examples of shape {shape} ({overview.dtype}){own}")
    for note in overview.notes:
        say(screen, "note", note)
    _show_classes(screen, overview.classes)
    _show_features(screen, [*overview.features[:_SHOWN], *([overview.target] if overview.target else [])])
    if len(overview.features) > _SHOWN:
        screen.print(f"… {len(overview.features) - _SHOWN:,} more columns; the page has them all.")


def _show_classes(screen: Console, classes: Mapping[str, int]) -> None:
    if not classes:
        return
    most = max(classes.values())
    bars = ([c, f"{n:,}", "█" * max(1, round(24 * n / most))] for c, n in list(classes.items())[:_SHOWN])
    screen.print(table("class", "examples", "", rows=bars))
    if len(classes) > _SHOWN:
        screen.print(f"… {len(classes) - _SHOWN:,} more classes")


def _show_features(screen: Console, features: "Sequence[Feature]") -> None:
    rows = ([f.name, f.kind, *_spread(f), f"{f.missing:,}"] for f in features)
    screen.print(table("", "kind", "least", "mean", "most", "missing", rows=rows))


def show_graphs(screen: Console, name: str, overview: "GraphOverview") -> None:
    """The figures of graphs."""
    say(screen, "source", f"{name}: {overview.size}")
    say(screen, "degrees", overview.spread)
    for note in overview.notes:
        say(screen, "note", note)
    _show_classes(screen, overview.classes)
    if overview.features:
        _show_features(screen, overview.features[:_SHOWN])


def show_series(screen: Console, name: str, overview: "SeriesOverview") -> None:
    """The figures of series."""
    season = f"season {overview.season} ({overview.season_from})"
    say(screen, "source", f"{name}: {len(overview.series)} series in steps of {overview.spacing}, {season}")
    for title, names in {"covariates": overview.covariates, "known ahead": overview.known}.items():
        if names:
            say(screen, title, ", ".join(names))
    shown = overview.series[:_SHOWN]
    rows = ([s.name, f"{s.rows:,}", s.first, s.last, *map(quantity, (s.low, s.mean, s.high))] for s in shown)
    screen.print(table("series", "rows", "from", "to", "least", "mean", "most", rows=rows))
    if len(overview.series) > _SHOWN:
        screen.print(f"… {len(overview.series) - _SHOWN:,} more series")


def show_text(screen: Console, name: str, overview: "TextOverview") -> None:
    """The figures of a text."""
    say(screen, "source", f"{name}: {counted(overview.documents, 'document')}, {counted(overview.bytes, 'byte')}")
    for note in overview.notes:
        say(screen, "note", note)
    rows = [
        ["characters", f"{overview.characters:,}", f"{overview.different_characters:,}"],
        ["words", f"{overview.words:,}", f"{overview.different_words:,}"],
        [f"tokens ({overview.tokenizer})", f"{overview.tokens:,}", f"{overview.vocabulary:,}"],
        ["lines", f"{overview.lines:,}", ""],
    ]
    screen.print(table("", "in all", "different", rows=rows))
    if overview.classes:
        screen.print(table("class", "texts", rows=([c, f"{n:,}"] for c, n in list(overview.classes.items())[:_SHOWN])))
        lengths = overview.text_tokens
        words = f"{lengths['least']:,} to {lengths['most']:,} tokens, {lengths['median']:,.0f} in the median"
        say(screen, "a text has", words)
    if overview.common_words:
        say(screen, "words", ", ".join(f"{word} {n:,}" for word, n in overview.common_words.items()))
    say(screen, "tokens", ", ".join(f"'{printable(token)}' {n:,}" for token, n in overview.common_tokens.items()))
    where = ([f"{line.document}:{line.line}", f"{line.characters:,}", line.text] for line in overview.longest_lines)
    screen.print(table("longest lines", "characters", "", rows=where))
    say(screen, "begins", overview.beginning)


def _spread(feature: "Feature") -> list[str]:
    return ["", f"{feature.categories} values", ""] if feature.categories is not None else feature.ends


def _where(name: str) -> dict[str, Any]:
    """Where the data of a source are; for those in the cache, the folder and its size."""
    from gradlab.data import bundled, generated, series_generated, sources
    from gradlab.data.public.fetching import DOWNLOADS, in_cache

    if name not in DOWNLOADS:
        rooms = {bundled.__name__: "scikit-learn", **{m.__name__: "generated" for m in (generated, series_generated)}}
        room = sources[name].__module__
        of_python = room.startswith("gradlab.") and "path" not in sources.schema(name).knobs
        where = rooms.get(room, "python" if of_python else "yours")
        return {"where": where, "path": None, "bytes": None}
    folder = in_cache(name)
    if folder is None:
        return {"where": "web", "path": None, "bytes": sum(file.size for file in DOWNLOADS[name])}
    return {"where": "cache", "path": str(folder), "bytes": sum(file.size for file in DOWNLOADS[name])}


def _summary(builder: Callable[..., Any]) -> str:
    from gradlab.explanation.docstring import Docstring
    from gradlab.explanation.equations import sentence

    return sentence(Docstring.of(builder).summary)


def _recipe_for(source: str) -> str:
    from gradlab.recipes import book

    return next((name for name in book if book[name]().data.name == source), f"RECIPE data={source}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@contextmanager
def _shown(screen: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Progress of downloads: a bar for each file in a terminal, elsewhere a line for each tenth of it."""
    bars: dict[str, TaskID] = {}
    tenths: dict[str, int] = {}

    def draw(file: str, done: int, size: int) -> None:
        if file not in bars:
            bars[file] = live.add_task(file, total=size)
        live.update(bars[file], completed=done)

    def notify(file: str, done: int, size: int) -> None:
        if 10 * done // size > tenths.get(file, -1):
            tenths[file] = 10 * done // size
            print(f"{file}: {_megabytes(done)} of {_megabytes(size)}", flush=True)

    if not screen.is_terminal:
        yield notify
        return
    columns = TextColumn("{task.description}"), BarColumn(20), DownloadColumn(), TimeRemainingColumn(compact=True)
    with Progress(*columns, console=screen) as live:
        yield draw
