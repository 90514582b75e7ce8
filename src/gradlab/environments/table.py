"""A Markov decision process of one's own, as tables in a file; without one, a machine that wears out."""

from pathlib import Path
from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from gradlab.environments.environment import Environments, registry
from gradlab.environments.tabular import TableEnvironments
from gradlab.errors import GradlabError
from gradlab.files import read_json
from gradlab.maths.decisions import DecisionProcess
from gradlab.registry import Count, NonNegative

_ADVICE = 'It is JSON: {"transition": [state][action][next state], "rewards": [state][action], "start": 0}'

# New, worn and broken; run it or repair it. Running pays less the more it is worn, and wears it.
_MACHINE = DecisionProcess(
    [
        [[0.7, 0.3, 0.0], [1.0, 0.0, 0.0]],
        [[0.0, 0.6, 0.4], [0.9, 0.1, 0.0]],
        [[0.0, 0.0, 1.0], [0.8, 0.0, 0.2]],
    ],
    [[10.0, -2.0], [6.0, -2.0], [-5.0, -8.0]],
)


class TableFile(TypedDict):
    """What such a file holds; rewards may have an axis for the next state too, and start may be a law."""

    transition: list[list[list[float]]]
    rewards: list[list[float]] | list[list[list[float]]]
    start: NotRequired[int | list[float]]


def read_process(path: Path) -> DecisionProcess:
    """The process in a file, refused by the row that is wrong."""
    if not path.is_file():
        raise GradlabError(f"data.env.file={path} is not a file. {_ADVICE}")
    content = read_json(path, TableFile, _ADVICE)
    try:
        return DecisionProcess(content["transition"], content["rewards"], start=content.get("start", 0))
    except GradlabError as error:
        raise GradlabError(f"{path}: {error}") from error
    except ValueError as error:
        raise GradlabError(f"{path}: its tables have rows of different lengths. {_ADVICE}") from error


@registry.register("table")
def table(
    num: int,
    *,
    file: Annotated[
        str | None, "JSON with transition, rewards and perhaps start; none: a machine that wears out"
    ] = None,
    noise: Annotated[NonNegative, "standard deviation of a reward around its mean"] = 0.0,
    limit: Annotated[Count, "steps after which an episode is cut off"] = 100,
) -> Environments:
    """A Markov decision process as tables of probabilities and rewards."""
    process = _MACHINE if file is None else read_process(Path(file))
    return TableEnvironments(process, num, limit, noise)
