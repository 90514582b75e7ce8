"""A run in one line, and as a notebook shows it: from its files alone, so that none of its code is run."""

from typing import TYPE_CHECKING, Any

from gradlab.diagnosis.inline import findings_list
from gradlab.inline import figures_table
from gradlab.markup import Html, tag
from gradlab.run.results import short_figures
from gradlab.wording import counted, duration

if TYPE_CHECKING:
    from gradlab.run.files import RunFiles


def run_facts(run: "RunFiles") -> list[str]:
    """The recipe, the state and the first figures."""
    result = run.result
    figures = short_figures(*_reported_figures(result)) if result else []
    return [run.recipe.name, _state(run, result), *figures]


def run_content(run: "RunFiles") -> list[Html]:
    """Figures next to those of the baselines, curves, and findings."""
    result = run.result
    if result is None:
        return [run.metrics.charts(), tag("div", "Resume with: ", tag("code", run.resume_command))]
    findings = findings_list(run.findings or [])
    return [figures_table(_columns(result)), run.metrics.charts(), findings]


def _state(run: "RunFiles", result: dict[str, Any] | None) -> str:
    if result is not None:
        return f"{counted(result['steps'], 'step')} in {duration(result['seconds'])}"
    last = run.metrics[-1]["step"] if run.metrics else 0
    return f"not finished, at step {last:,}"


def _reported_figures(result: dict[str, Any]) -> tuple[dict[str, float], str]:
    """The figures of the test split, or else of the validation split, and its name."""
    split = "test" if result["test"] else "validation"
    return result[split], split


def _columns(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The splits, and what baselines reach on the first of them."""
    figures, split = _reported_figures(result)
    columns = {name: result[name] for name in ("test", "validation") if result[name]}
    for name, others in result.get("baselines", {}).get(split, {}).items():
        columns[f"{name} ({split})"] = {key: value for key, value in others.items() if key in figures}
    return columns
