"""The top of the report: what was trained, and how well it does beside the trivial baselines."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, card, join, quiet, tag
from gradlab.specs import Environment
from gradlab.wording import baseline_verdict, counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.run import Run

_APART = ("ece",)  # a guess that never changes is well calibrated: beside such a baseline the figure says nothing
_NEITHER = ("coverage", "episode_length", "kl", "return_std")  # of which neither more nor less is better
_BESIDE = {
    "_se": "standard error", "_real": "real examples", "_real_se": "their standard error",
    "_error": "standard error", "_draws_error": "of the draws alone",
    "_variance_closed": "variance of a draw", "_variance_drawn": "with the KL drawn",
}  # fmt: skip
_ENDS = {"patience": "It stopped early, when the validation loss had long ceased to fall."}


def headline(run: "Run") -> Html:
    result = run.finished
    split = "test" if result["test"] else "validation"
    names = dict.fromkeys((*run.task.finished_figures, *run.task.figure_names, "loss", *result[split]))
    apart = (*_APART, *(f"{name}{kind}" for name in result[split] for kind in _BESIDE))
    cards = [_card(run, split, name) for name in names if name in result[split] and name not in apart]
    folder, *others = run.names
    started = f"{run.environment['started'][:16].replace('T', ' ')} UTC"
    return tag(
        "header",
        tag("p", " · ".join(["Run", *others, started]), class_="over"),
        tag("h1", folder),
        tag("p", _what(run, result), class_="lead"),
        tag("p", verdict, class_="lead") if (verdict := _verdict(result)) else "",
        quiet(_how(run, result)),
        tag("div", *cards, class_="figures"),
    )


def _what(run: "Run", result: dict[str, Any]) -> Html:
    examples, device = run.data["sizes"]["train"], run.environment["device_name"]
    epochs = max((line["epoch"] for line in run.metrics), default=0)
    steps = counted(result["steps"], "step")
    acts = isinstance(run.preprocessing.spec, Environment)
    return join(
        [
            "The model ",
            tag("b", run.recipe.model.values.get("class", run.recipe.model.name)),
            f" with {counted(result['parameters'], 'parameter')}, trained on ",
            f"{counted(examples, 'example')} of " if examples else "",
            tag("b", _source(run)),
            f" for {steps} in " if acts else f" for {epochs:.3g} epoch{'' if epochs == 1 else 's'} ({steps}) in ",
            f"{duration(result['seconds'])} on {run.environment['device'].upper()}{f' ({device})' if device else ''}.",
        ]
    )


def _verdict(result: dict[str, Any]) -> str:
    """Where it is not better than its best baseline, that."""
    verdict = baseline_verdict(result.get("best_baseline", {}))
    return f"It is {verdict}." if verdict else ""


def _source(run: "Run") -> str:
    """The user's own file by its name, and what it was asked to predict; other data by their source."""
    values = run.recipe.data.values
    if run.recipe.data.name == "fit":
        return "the data of a script"
    if not values.get("path"):
        return run.recipe.data_name
    name = Path(values["path"]).name
    return f"{name} (target {values['target']})" if "target" in values else name


def _how(run: "Run", result: dict[str, Any]) -> str:
    sizes = run.data["sizes"]
    held_out = f"Held out: {counted(sizes['validation'], 'example')} for validation, {sizes['test']:,} for test."
    kept = f"{_start(run)}Weights kept: {result['weights']}."
    untrained = "They are those before the first step: nothing that was learned made it better." * _untrained(run)
    return " ".join([held_out if sizes["train"] else "", kept, untrained, _ENDS.get(result["ended"], "")])


def _start(run: "Run") -> str:
    """Where its weights began, and what of them was frozen."""
    from gradlab.training.plan import Plan, plan_schema
    from gradlab.training.transfer import start_in_words

    plan = Plan(**plan_schema.resolve(run.recipe.train, "train"))
    examples = run.data["sizes"]["train"]
    steps = plan.total_steps(plan.steps_per_epoch(examples)) if examples else run.finished["steps"]
    words = start_in_words(plan, steps)
    return f"Start: {words}. " if words else ""


def _untrained(run: "Run") -> bool:
    """Whether the weights that were kept are those before the first step."""
    return str(run.finished["weights"]).split(", ")[:2] == ["best", "of step 0"]


def _card(run: "Run", split: str, metric: str) -> Html:
    """One figure with its baselines; its colour says whether it beats the trivial one, and whether it beats them all.

    Untrained weights that do had luck.
    """
    result = run.finished
    value, to_beat = result[split][metric], result["baseline"].get(split, {}).get(metric)
    baselines = result.get("baselines", {}).get(split, {})
    beside = {name: figures[metric] for name, figures in baselines.items() if metric in figures}

    def beats(other: float | None) -> bool:
        return other is None or (value > other if run.task.higher_is_better(metric) else value < other)

    verdict = ""
    if value is not None and to_beat is not None and metric not in _NEITHER:
        best = all(map(beats, beside.values())) and not _untrained(run)
        verdict = "poor" if not beats(to_beat) else "better" if best else ""
    beside |= {
        words: result[split][f"{metric}{kind}"] for kind, words in _BESIDE.items() if f"{metric}{kind}" in result[split]
    }
    if split == "test" and metric in result["validation"]:
        beside["validation"] = result["validation"][metric]
    texts = {name: number(figure) for name, figure in beside.items()}
    return card(f"{split} {name_of(metric)}", number(value), texts, verdict)
