"""A worked example of machine translation: a small grammar of English and Spanish, learned in seconds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations, product
from math import log
from typing import TYPE_CHECKING

import torch

from gradlab.data.dataset import Dataset
from gradlab.data.pairs.prepare import prepare_pairs
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.reader import SentenceReader
from gradlab.explanation.walk import Step, worked
from gradlab.models import build_model
from gradlab.models.cost import parameter_count
from gradlab.models.seq2seq import Conditioned, EncoderDecoderModel
from gradlab.registry import Part
from gradlab.sampling import Beam, beam_search
from gradlab.tasks.seq2seq import Seq2Seq
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

if TYPE_CHECKING:
    from gradlab.training.loop import Training

NOUNS = {"cat": "el gato", "dog": "el perro", "book": "el libro", "girl": "la niña", "apple": "la manzana"}
VERBS = {"sees": "ve", "wants": "quiere", "paints": "pinta"}
ADJECTIVES = {"": "", "red": "roj", "white": "blanc", "small": "pequeñ"}
STEPS, LOOK_EVERY, BEAM = 90, 30, 3
_PLAN = {
    "batch_size": 32,
    "lr": 5e-3,
    "schedule": "cosine",
    "clip": 1.0,
    "keep": "last",
    "compile": "off",
    "threads": 1,
}


def sentences() -> Iterator[tuple[str, str]]:
    """Who does what to what: in Spanish the adjective comes behind its noun, and ends as the noun's gender wants."""
    for (who, what), verb, adjective in product(permutations(NOUNS, 2), VERBS, ADJECTIVES):
        described = f"{ADJECTIVES[adjective]}{'o' if NOUNS[what].startswith('el') else 'a'}" if adjective else ""
        english = f"the {who} {verb} the {adjective} {what}"
        yield " ".join(english.split()), f"{NOUNS[who]} {VERBS[verb]} {NOUNS[what]} {described}".strip()


@dataclass
class Translator(Observer):
    """A small encoder and decoder with attention, and how its translations of new sentences came along."""

    data: Dataset
    model: EncoderDecoderModel
    task: Seq2Seq
    every: int | None = LOOK_EVERY
    moments: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Step, loss per token, and the shares of new sentences that are right, greedily and with a beam."""

    @classmethod
    def trained(cls) -> "Translator":
        from gradlab.training import driver  # a tenth of a second, which the list of all examples can do without

        english, spanish = zip(*sentences(), strict=True)
        raw = Pairs.of_texts(english, spanish, "pair {}".format, SentenceReader())
        data = prepare_pairs(raw, "pairs", tokenizer="word", validation=0.0, test=0.2)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            part = Part("seq2seq-rnn", {"cell": "gru", "dim": 32, "hidden": 64})
            model = build_model(part, data.preprocessing.spec, data.targets.tokens)
            assert isinstance(model, EncoderDecoderModel)
            self = cls(data, model, Seq2Seq(data.targets))
            plan = Plan(**plan_schema.resolve({"steps": STEPS, **_PLAN}, "train"))
            self.step(None)
            with driver.training(model, self.task, data.train, None, plan, observers=[self]) as training:
                training.run()
        return self

    def step(self, training: "Training | None") -> None:
        test = self.data.test
        loss = self.task.evaluate(self.model, test)["loss"]
        right = [
            sum(one.text == text for one, text in zip(written, test.texts, strict=True)) / len(test)
            for written in (self.task.writing(beam, None).write(self.model, test.inputs) for beam in (1, BEAM))
        ]
        self.moments.append((training.progress.step if training else 0, loss, *right))

    def hypotheses(self, row: int) -> list[tuple[str, float, float]]:
        """Of a new sentence the best translations of a beam search: text, log P, and log P for each token."""
        text = self.task.text
        with torch.inference_mode():
            begin = torch.full((1, 1), text.encoder["<bos>"])
            source = Conditioned(self.model.eval(), self.data.test.inputs[row : row + 1])
            beam, end = Beam(BEAM, n_best=BEAM), text.encoder["<eos>"]
            written = beam_search(source, begin, text.most_written, beam, eos=end, pad=0)
        words = [text.decode(tokens[1:]) for tokens in written.tokens[0].tolist()]
        return list(zip(words, written.log_probabilities[0].tolist(), written.scores[0].tolist(), strict=True))


@worked("machine-translation", "English to Spanish: trained for some steps, then written word by word")
def machine_translation() -> list[Step]:
    translator = Translator.trained()
    data, moments = translator.data, translator.moments
    pairs, row = list(sentences()), 0
    source = pairs[int(data.test.rows[row])][0]
    best = translator.hypotheses(row)
    (greedy,) = translator.task.write(translator.model, data.test.inputs[row : row + 1])
    vocabulary = data.targets.tokens
    assert vocabulary is not None
    return [
        Step(
            f"Pairs of sentences: {len(data.train)} to learn from, {len(data.test)} that are new. The words are in "
            "another order, and agree with others that stand further away.",
            values="\n".join(f"{english}  →  {spanish}" for english, spanish in pairs[3 :: len(pairs) // 4]),
        ),
        Step(
            "An encoder (a GRU) reads the source; a decoder writes the target word by word, and looks at all states of "
            f"the encoder by attention. Both have {parameter_count(translator.model):,} parameters. The loss is the "
            f"mean over the target's tokens; of {vocabulary} tokens that are all as likely it is "
            f"$\\log {vocabulary} = {log(vocabulary):.2f}$.",
            r"P(y \mid x) = \prod_t P(y_t \mid y_1, \dots, y_{t-1}, x), \qquad \ell = -\frac{1}{T} \log P(y \mid x)",
        ),
        Step(
            f"Trained on batches of {_PLAN['batch_size']}: the loss on new sentences, and the share of them that is "
            f"translated without a mistake, greedily and with a beam of {BEAM}.",
            values="\n".join(["step   loss   greedy   beam", *(_moment(*moment) for moment in moments)]),
        ),
        Step(
            f"A new sentence: “{source}”. Greedily, the most probable word is taken each time.",
            r"\hat y_t = \arg\max_w P(w \mid \hat y_1, \dots, \hat y_{t-1}, x)",
            f"{greedy.text}    (mean log P {greedy.score:.3f})",
        ),
        Step(
            f"A beam follows the {BEAM} best beginnings at once, and ranks what it ends with by the mean of log P.",
            r"\mathrm{score}(y) = \frac{1}{T} \sum_{t=1}^{T} \log P(y_t \mid y_{<t}, x)",
            "\n".join(f"{score:8.3f}   log P {total:8.3f}   {text}" for text, total, score in best),
        ),
    ]


def _moment(step: int, loss: float, greedy: float, beam: float) -> str:
    return f"{step:4d}   {loss:.2f}   {greedy:6.0%}   {beam:4.0%}"
