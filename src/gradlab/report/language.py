"""What a language model writes, or fills in."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, quiet, section, tag
from gradlab.report.charts import charts

if TYPE_CHECKING:
    from gradlab.run import Run

_TEXTS = 3  # that are shown
_PROMPT, _WRITTEN = 32, 200  # tokens of each: from the test split, and the model's own
_FILLED = 128  # tokens of each, some of which are hidden


def written_section(run: "Run") -> Html:
    """Beginnings from the test split, and how the model goes on."""
    from gradlab.sampling import generate  # which loads torch, and so only where there is a model

    test = run.dataset.test
    start = min(_PROMPT, test.inputs.shape[1] // 2)
    if not len(test) or not start:
        return Html()
    prompts = test.sample(_TEXTS).inputs[:][:, :start]
    rows = generate(run.model, prompts, _WRITTEN, temperature=0.8, seed=0).tolist()
    decode = run.tokenizer.decode
    words = "Beginnings from the test split, in bold, and how the model goes on from them, drawn at temperature 0.8."
    figures = [_text(tag("b", decode(row[:start])), decode(row[start:])) for row in rows]
    return section("What it writes", quiet(words), charts(*figures))


def filled_section(run: "Run") -> Html:
    """Windows of the test split, with what was hidden in them and what the model takes it for."""
    from gradlab.data.text.masking import UNASKED
    from gradlab.tasks import predict

    some = run.dataset.test.sample(_TEXTS)
    if not len(some):
        return Html()
    guesses = predict(run.model, some.inputs).argmax(-1)
    texts = [token.decode(errors="replace") or "\ufffd" for token in run.tokenizer.tokens]

    def token_html(token: int, target: int, guess: int) -> list[str]:
        if target == UNASKED:
            return [texts[token]]
        if guess == target:
            return [tag("b", texts[guess])]
        return [tag("span", texts[guess], class_="said"), tag("s", texts[target])]

    rows = zip(some.inputs[:][:, :_FILLED].tolist(), some.targets[:].tolist(), guesses.tolist(), strict=True)
    words = (
        "Windows of the test split. Bold: hidden tokens that the model found. In colour: what it took a hidden token "
        "for, and struck out what that was."
    )
    figures = [_text(*(part for each in zip(*row, strict=False) for part in token_html(*each))) for row in rows]
    return section("What it fills in", quiet(words), charts(*figures))


def _text(*parts: str) -> Html:
    return tag("figure", tag("pre", *parts, style="white-space: pre-wrap"))
