"""What a masked language model fills in."""

from typing import TYPE_CHECKING

from gradlab.report.markup import Html, join, section, tag

if TYPE_CHECKING:
    from gradlab.run import Run

_SAMPLES, _SHOWN = 3, 128  # windows of the test split, and tokens of each


def test_section(run: "Run") -> Html:
    """Windows of the test split, with what was hidden in them and what the model takes it for."""
    from gradlab.data.text.masking import UNASKED  # which loads torch, and so only where there is a model
    from gradlab.tasks import predict

    some = run.dataset.test.sample(_SAMPLES)
    if not len(some):
        return Html()
    said = predict(run.model, some.inputs).argmax(-1)
    content = run.tokenizer.tokens

    def shown(tokens: list[int], targets: list[int], guesses: list[int]) -> Html:
        parts: list[str] = []
        for token, target, guess in zip(tokens[:_SHOWN], targets, guesses, strict=False):
            if target == UNASKED:
                parts.append(_text(content[token]))
            elif guess == target:
                parts.append(tag("b", _text(content[guess])))
            else:
                parts += [tag("span", _text(content[guess]), class_="said"), tag("s", _text(content[target]))]
        return tag("figure", tag("pre", join(parts), style="white-space: pre-wrap"))

    rows = zip(some.inputs[:].tolist(), some.targets[:].tolist(), said.tolist(), strict=True)
    words = (
        "Windows of the test split. Bold: hidden tokens that the model found. In colour: what it took a hidden token "
        "for, and struck out what that was."
    )
    figures = [shown(*row) for row in rows]
    return section("What it fills in", tag("p", words, class_="quiet"), tag("div", *figures, class_="charts"))


def _text(token: bytes) -> str:
    return token.decode(errors="replace") or "\ufffd"
