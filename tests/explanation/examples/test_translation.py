"""Machine translation in seconds: what the model learns, and that its scores are those of its own words."""

import pytest
import torch

from gradlab.explanation.examples.translation import BEAM, STEPS, Translator, machine_translation, sentences


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.trained()


def test_adjectives_follow_their_noun_and_agree_with_it():
    pairs = dict(sentences())
    assert len(pairs) == 5 * 4 * 3 * 4
    assert pairs["the cat sees the red apple"] == "el gato ve la manzana roja"
    assert pairs["the girl paints the small dog"] == "la niña pinta el perro pequeño"
    assert pairs["the dog wants the book"] == "el perro quiere el libro"


def test_new_sentences_are_translated(translator: Translator):
    steps, losses, greedy, beam = zip(*translator.moments, strict=True)
    assert (steps[0], steps[-1]) == (0, STEPS)
    assert losses[0] == pytest.approx(torch.tensor(float(translator.data.targets.tokens)).log().item(), abs=0.3)
    assert losses[-1] < 0.4
    assert greedy[0] == beam[0] == 0
    assert min(greedy[-1], beam[-1]) > 0.8


def test_a_hypothesis_scores_what_the_model_says_of_its_words(translator: Translator):
    text, data = translator.task.text, translator.data
    hypotheses = translator.hypotheses(3)
    assert len(hypotheses) == BEAM
    assert [score for *_, score in hypotheses] == sorted((score for *_, score in hypotheses), reverse=True)
    for words, total, score in hypotheses:
        tokens = torch.as_tensor(text.encode([words])[0])[None]
        with torch.no_grad():
            log_p = translator.model(data.test.inputs[3:4], tokens[:, :-1]).log_softmax(-1)
        said = log_p[0].gather(1, tokens[0, 1:, None]).squeeze(1)
        assert said.sum().item() == pytest.approx(total, abs=1e-4)
        assert said.mean().item() == pytest.approx(score, abs=1e-4)


def test_the_steps_show_greedy_and_beam(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Translator, "trained", lambda: translator)
    *_, greedy, beam = machine_translation()
    (source,) = (english for english, _ in sentences() if f"“{english}”" in greedy.words)
    assert dict(sentences())[source] == translator.data.test.texts[0]
    best = translator.hypotheses(0)
    assert greedy.values.partition("    ")[0] in {words for words, *_ in best}
    assert [line.split("   ")[-1] for line in beam.values.splitlines()] == [words for words, *_ in best]
