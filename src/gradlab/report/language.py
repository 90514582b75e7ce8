"""What a language model writes."""

from typing import TYPE_CHECKING

from gradlab.report.markup import Html, section, tag

if TYPE_CHECKING:
    from gradlab.run import Run

_SAMPLES, _BEGUN, _WRITTEN = 3, 32, 200  # texts, and the tokens of each: from the test split, and the model's own


def test_section(run: "Run") -> Html:
    """Beginnings from the test split, and how the model goes on."""
    from gradlab.sampling import generate  # which loads torch, and so only where there is a model

    test = run.dataset.test
    begun = min(_BEGUN, test.inputs.shape[1] // 2)
    limit = getattr(run.model, "limit", None) or begun + _WRITTEN
    if not len(test) or not 0 < begun < limit:
        return Html()
    prompts = test.sample(_SAMPLES).inputs[:][:, :begun]
    written = generate(run.model, prompts, min(_WRITTEN, limit - begun), temperature=0.8, seed=0)
    decode = run.tokenizer.decode
    shown = [
        tag("figure", tag("pre", tag("b", decode(row[:begun])), decode(row[begun:]), style="white-space: pre-wrap"))
        for row in written.tolist()
    ]
    words = "Beginnings from the test split, in bold, and how the model goes on from them, drawn at temperature 0.8."
    return section("What it writes", tag("p", words, class_="quiet"), tag("div", *shown, class_="charts"))
