"""`gradlab prune`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from gradlab.cli.output import console, figures_table, print_json, say, table
from gradlab.cli.requests import shared_options
from gradlab.cli.studies import going_on, show_folder
from gradlab.cli.training import CodeFiles, Device, Flag, Json, MovedData, Plain, progress, show_findings
from gradlab.errors import GradlabError
from gradlab.wording import counted, duration, name_of, number, percent

if TYPE_CHECKING:
    from gradlab.studies.members import Member, Notify
    from gradlab.studies.pruning import PruningStudy
    from gradlab.studies.tickets import Row, Tickets

_ROUNDS, _SEEDS = 5, 5  # of --ticket


def prune(
    run: str,
    /,
    *,
    keep: float,
    rewind: Flag = False,
    reinit: Flag = False,
    rounds: int | None = None,
    per_layer: Flag = False,
    ticket: Flag = False,
    seeds: int | None = None,
    dense: str | None = None,
    data: MovedData = None,
    code: CodeFiles = None,
    out: str | None = None,
    device: Device | None = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Prune a trained run to a share of its weights, and train what is left; or look for lottery tickets.

    Examples to copy:

    - `gradlab prune runs/digits-mlp-3f2a --keep 0.2`: a fifth of the weights, trained on from where they are
    - `gradlab prune runs/digits-mlp-3f2a --keep 0.05 --rounds 5 --out small`: a part of them in each of five rounds
    - the last one again: goes on where it was, also after a crash
    - `gradlab prune runs/digits-mlp-3f2a --keep 0.2 --rewind`: back to the first weights, then trained
    - `gradlab prune runs/digits-mlp-3f2a --keep 0.2 --reinit`: the same mask over other first weights, the control
    - `gradlab prune runs/digits-mlp-3f2a --keep 0.05 --ticket --seeds 5`: the table of the lottery-ticket hypothesis
    - `gradlab prune runs/digits-mlp-3f2a --keep 0.2 --dense small.safetensors`: also a file that any program reads

    The weights of the smallest magnitude are pruned, of all matrices and kernels together. Biases, normalisations,
    tables of embeddings and frozen parts are not. Pruned weights are exactly 0 in every step from then on, and the
    checkpoints of a pruned run hold a bit for each weight and the values that are kept. It is a run like any other:
    evaluate, predict, probe and resume take it, and it can be pruned again.

    Parameters
    ----------
    run
        The folder of a finished run.
    keep
        The share of the weights that is kept, above 0 and at most 1.
    rewind
        Begin with the weights that the run had before its first step.
    reinit
        Begin with weights that are drawn anew.
    rounds
        Prune so many times, the same share of what is left each time, and train after each; default 1. Between the
        rounds weights are rewound, with --reinit too, and without both trained on.
    per_layer
        Keep the same share in each layer, instead of the largest weights of all layers together.
    ticket
        With several seeds, train dense networks, prune and rewind them in rounds (default 5), and train each mask from
        other first weights too: mean and standard deviation of each, with a picture in the report.
    seeds
        Of --ticket, from train.seed upwards; default 5.
    dense
        Write the weights to this file of safetensors as well, under their plain names and with their zeros.
    out
        The folder to make, of a run, or of several with --rounds and --ticket. One that the same command has begun is
        gone on with. Default: `runs/NAME-pruned-xxxx`.
    device
        Where to train; default where the run was trained.
    """
    from gradlab import api
    from gradlab.run.folder import new_path

    chosen = {"--rewind": rewind, "--reinit": reinit, "--per-layer": per_layer, "--ticket": ticket}
    values = {"--keep": keep, "--rounds": rounds, "--seeds": seeds, "--dense": dense}
    flags = [flag for flag, is_set in chosen.items() if is_set]
    options = {key: str(value) for key, value in values.items() if value is not None}
    _check_together([*flags, *options])
    if dense is not None:
        _check_place(Path(dense))
    screen = console(plain)
    opened = api.load_run(run, code=code, data=data)
    folder = Path(out) if out else new_path(f"{opened.recipe.name}-{'tickets' if ticket else 'pruned'}")
    typed = [
        *shared_options(data, code or [], device or "auto"),
        *(part for pair in options.items() for part in pair),
        *flags,
    ]
    same: dict[str, Any] = {"per_layer": per_layer, "out": folder, "device": device}
    with going_on(shlex.join(["gradlab", "prune", run, *typed]), folder):
        if ticket:
            same |= {"rounds": _ROUNDS if rounds is None else rounds, "seeds": _SEEDS if seeds is None else seeds}
            tickets = api.find_tickets(
                opened, keep, notify=_notifier(screen, as_json, "training", _ticket_words), **same
            )
        else:
            same |= {"rewind": rewind, "reinit": reinit, "rounds": 1 if rounds is None else rounds}
            live = not as_json and (screen.is_terminal or same["rounds"] == 1)
            watching = [progress(screen)] if live else []
            notify = _notifier(screen, as_json, "round", _round_words)
            pruned = api.prune(opened, keep, observers=watching, notify=notify, **same)
    if ticket:
        print_json(tickets.to_json()) if as_json else show_tickets(screen, tickets)
        return
    files = {"dense": str(pruned.run.save_weights(dense))} if dense is not None else {}
    print_json({**pruned.to_json(), **files}) if as_json else show_pruned(screen, pruned, files)


def _check_together(options: Sequence[str]) -> None:
    """Refuse options of which one makes another meaningless."""
    if "--rewind" in options and "--reinit" in options:
        raise GradlabError("--rewind and --reinit are two ways to begin: give one of them.")
    for other in ("--rewind", "--reinit", "--dense"):
        if "--ticket" in options and other in options:
            raise GradlabError(f"--ticket trains rewound and reinitialised networks of its own: leave out {other}.")
    if "--seeds" in options and "--ticket" not in options:
        raise GradlabError("--seeds is for the comparison over several seeds: add --ticket.")


def _check_place(file: Path) -> None:
    """Refuse a file that could not be written after the training."""
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise GradlabError(f"--dense {file}: name a file in a folder that exists.")


def _notifier(screen: Console, as_json: bool, noun: str, describe: Callable[[Member], str]) -> Notify | None:
    """A line for each training, as soon as it is done."""
    if as_json:
        return None

    def notify(place: int, count: int, member: Member) -> None:
        figures = list((member.test or member.validation).items())[:2]
        shown = ", ".join(f"{name} {number(value)}" for name, value in figures)
        say(screen, noun, f"{place} of {count} | {describe(member)} | {shown} | {duration(member.seconds)}")

    return notify


def _round_words(member: Member) -> str:
    return f"{percent(member.changes['kept'])} kept"


def _ticket_words(member: Member) -> str:
    changes = member.changes
    return f"seed {changes['train.seed']}, {changes['way']}, {percent(changes['kept'])} kept"


def show_pruned(screen: Console, result: PruningStudy, files: dict[str, str]) -> None:
    """What is left of each layer, the figures before and after, and what the saved weights take."""
    from gradlab.report.pruning import BEGINNINGS

    run, pruning = result.run, result.run.finished["pruning"]
    layers = ([name, f"{kept:,}", f"{of:,}", percent(kept / of)] for name, (kept, of) in pruning["layers"].items())
    screen.print(table("weights", "kept", "of", "share", rows=layers))
    if len(result.rounds) > 1:
        metric = result.metric
        rows = [
            [one.path.name, percent(result.share(one)), *(number(result.figures(one).get(n)) for n in (metric, "loss"))]
            for one in result.rounds
        ]
        screen.print(table("round", "kept", *(f"{result.split} {name_of(n)}" for n in (metric, "loss")), rows=rows))
    columns = {"pruned": result.figures(run), "before": result.figures(result.of)}
    screen.print(figures_table({f"{result.split}, {name}": figures for name, figures in columns.items()}))
    kept = f"{pruning['kept']:,} of {pruning['weights']:,} weights kept ({percent(result.kept)})"
    way = "by magnitude in each layer" if pruning["by"] == "layer" else "by magnitude"
    say(screen, "pruned", f"{kept}, {way}; began with {BEGINNINGS[pruning['start']]}")
    size = result.bytes
    less = size["dense"] / size["pruned"]
    say(
        screen, "size", f"{size['pruned']:,} bytes of saved weights; before {size['dense']:,}, {less:.1f} times as many"
    )
    show_findings(screen, run)
    for name, file in files.items():
        say(screen, name, file)
    say(screen, "run", str(run.path))
    say(screen, "report", str((result.path / "report.html").absolute()))


def show_tickets(screen: Console, result: Tickets) -> None:
    """Mean and standard deviation of each way to train, at each share of the weights."""
    from gradlab.studies.pages.tickets import WORDS

    rows = [[percent(1.0), _spread(result.row("dense", 1.0)), "–", "–", "–"]]
    for share in result.shares:
        gain = result.gain(share)
        pair = _spread(result.row("ticket", share)), _spread(result.row("reinit", share))
        rows.append([percent(share), "–", *pair, f"{gain.mean:+.4f} ± {number(gain.standard_error)}"])
    screen.print(table("kept", *WORDS.values(), "gain", rows=rows))
    of = f"{result.split} {name_of(result.metric)}, mean ± standard deviation of {counted(len(result.seeds), 'seed')}"
    say(screen, "figures", f"{of}; gain of tickets over controls, mean ± standard error of the pairs")
    say(screen, "verdict", result.verdict)
    show_folder(screen, result.path)


def _spread(row: Row) -> str:
    return f"{number(row.spread.mean)} ± {number(row.spread.std)}"
