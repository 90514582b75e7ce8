"""`gradlab play`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from gradlab.cli.output import console, print_json, say
from gradlab.cli.training import CodeFiles, Json, Plain, load_code
from gradlab.errors import GradlabError
from gradlab.files import new_file
from gradlab.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from gradlab.run.playing import Moment

_FRAME_SECONDS = 0.12
_PLAIN_STEPS = 500  # of an episode between lines, where there is no terminal
_MOST_FRAMES = 2000  # of a GIF: more take minutes to write and more memory than they are worth


def play(
    run: str,
    /,
    *,
    episodes: Annotated[int, Parameter(name=["-n", "--episodes"])] = 5,
    seed: int = 0,
    out: str | None = None,
    code: CodeFiles = None,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Let a trained policy act in its environment, and see what it earns.

    Examples to copy:

    - `gradlab play runs/grid-qlearning-3f2a`: in the terminal
    - `gradlab play runs/cartpole-ppo-3f2a --episodes 1 --out pole.gif`
    - `gradlab play runs/cartpole-ppo-3f2a --episodes 100 --json`

    Parameters
    ----------
    run
        The folder of a run that acts in an environment.
    episodes
        How many are played, each from a seed that no training has.
    seed
        Other episodes: the first ones are those of the test split.
    out
        A file ending in .gif, of what is seen.
    """
    from gradlab.run import open_run
    from gradlab.run.playing import check_acts, moments

    if episodes < 1:
        raise GradlabError(f"--episodes {episodes}: at least one must be played.")
    if out is not None and Path(out).suffix.lower() != ".gif":
        raise GradlabError(f"--out {out}: what is seen is written to a file ending in .gif.")
    load_code(code)
    opened = open_run(run)
    check_acts(opened)
    screen = console(plain)
    in_terminal = not as_json and out is None and _drawn_as_text(opened)
    played: Iterable[Moment] = moments(opened, episodes, seed, render=in_terminal or out is not None)
    ends: list[Moment] = []
    frames: list[Any] = []
    if in_terminal:
        played = _show_frames(played, screen)
    elif not as_json:
        played = _report_steps(played, screen, episodes)
    for moment in played:
        if out is not None and len(frames) < _MOST_FRAMES:
            frames += moment.frames
        if moment.over:
            ends.append(moment)
            if not as_json:
                say(
                    screen,
                    f"episode {moment.episode + 1}",
                    f"return {moment.total:.4g} in {counted(moment.length, 'step')}",
                )
    if out is not None:
        with nullcontext() if as_json else _stage(screen, f"{counted(len(frames), 'frame')} to {out}"):
            _save(Path(out), frames)
    returns = [end.total for end in ends]
    if as_json:
        figures = {"returns": returns, "lengths": [end.length for end in ends], "return": statistics.fmean(returns)}
        print_json({"run": str(opened.path), "episodes": episodes, "seed": seed, "file": out, **figures})
        return
    say(screen, "return", f"{statistics.fmean(returns):.4g} on average" if episodes > 1 else f"{returns[0]:.4g}")
    if out is not None:
        most = f", its first {_MOST_FRAMES:,} steps" if len(frames) >= _MOST_FRAMES else ""
        say(screen, "written", f"{out}{most}")


def _drawn_as_text(run: Any) -> bool:
    """Whether its environment can be seen in a terminal: those that are tables."""
    from gradlab.environments.tabular import TableEnvironments

    return isinstance(run.dataset.test.open(1), TableEnvironments)


def _report_steps(played: Iterable[Moment], screen: Console, episodes: int) -> Iterator[Moment]:
    """How far the episodes are: in a line that renews itself in a terminal, and elsewhere in a line now and then."""
    with screen.status("") if screen.is_terminal else nullcontext() as status:
        for moment in played:
            if status is not None:
                status.update(f"episode {moment.episode + 1} of {episodes}, step {moment.length:,}")
            elif moment.length % _PLAIN_STEPS == 0:
                say(screen, f"episode {moment.episode + 1}", f"step {moment.length:,}")
            yield moment


def _stage(screen: Console, text: str) -> AbstractContextManager[object]:
    """A line about work that takes a while."""
    if screen.is_terminal:
        return screen.status(f"writing {text}")
    say(screen, "writing", text)
    return nullcontext()


def _show_frames(played: Iterable[Moment], screen: Console) -> Iterator[Moment]:
    """Each frame in the place of the one before in a terminal, and below it elsewhere."""
    if not screen.is_terminal:
        for moment in played:
            for frame in moment.frames:
                screen.print(Text(f"{frame}\n"), soft_wrap=True)
            yield moment
        return
    from rich.live import Live

    with Live(console=screen, auto_refresh=False) as live:
        for moment in played:
            for frame in moment.frames:
                live.update(Text(str(frame)), refresh=True)
                time.sleep(_FRAME_SECONDS)
            yield moment


def _save(path: Path, frames: list[Any]) -> None:
    from gradlab.report.drawn import save_animation, text_picture

    with new_file(path) as file:
        save_animation(file, [text_picture(frame) if isinstance(frame, str) else frame for frame in frames])
