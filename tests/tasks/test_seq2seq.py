"""The task of pairs: what its loss counts, what a model reads of its own, and how what it writes is judged."""

import math
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from torch import nn

from gradlab.data import Targets, load, sources
from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.tasks import evaluate, tasks
from gradlab.tasks.text_scores import signatures, text_scores


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    words = ["ab", "ba", "abc", "cab", "bca", "aab", "b", "c", "cc", "abcab"]
    path.write_text("".join(f"{w}{v}\t{(w + v)[::-1]}\n" for w in words for v in words))
    return load(sources.resolve(Part("pairs", {"path": str(path), "tokenizer": "char"}), "data"), "pairs")


def task_of(dataset, **values):
    return tasks.build(tasks.resolve(Part("seq2seq", values), "task"), dataset.targets)


@pytest.fixture
def model(dataset):
    torch.manual_seed(0)
    part = Part("seq2seq-rnn", {"dim": 8, "hidden": 8, "cell": "gru"})
    return build_model(part, dataset.preprocessing.spec, dataset.targets.tokens)


def test_padding_counts_in_no_loss_and_no_figure(dataset, model):
    task = task_of(dataset)
    batch = dataset.test.batch(slice(0, 8))
    wide = {**batch, "targets": nn.functional.pad(batch["targets"], (0, 5))}
    model.eval()
    for some in (batch, wide):
        total, count = task.loss(task.forward(model, some), some["targets"])
        each = []
        for x, y in zip(some["inputs"], some["targets"], strict=True):
            y = y[y != 0]
            logits = model(x[x != 0][None], y[None, :-1])
            each.append(nn.functional.cross_entropy(logits[0], y[1:], reduction="sum"))
        assert total.item() == pytest.approx(sum(each).item(), rel=1e-5)
        assert count == (batch["targets"][:, 1:] != 0).sum()


def test_a_split_is_judged_as_its_examples_one_by_one(dataset, model):
    task = task_of(dataset)
    figures = evaluate(model, task, dataset.test)
    right = total = surprise = 0.0
    model.eval()
    for row in range(len(dataset.test)):
        batch = dataset.test.batch(slice(row, row + 1))
        logits = task.forward(model, batch)[0].log_softmax(-1)
        following = batch["targets"][0, 1:]
        following = following[following != 0]
        logits = logits[: len(following)]
        right += (logits.argmax(-1) == following).sum().item()
        surprise -= logits.gather(1, following[:, None]).sum().item()
        total += len(following)
    assert figures["token_accuracy"] == pytest.approx(right / total)
    assert figures["loss"] == pytest.approx(surprise / total, rel=1e-5)
    assert figures["perplexity"] == pytest.approx(math.exp(surprise / total), rel=1e-5)


def test_smoothing_is_of_training_alone(dataset, model):
    plain, smooth = task_of(dataset), task_of(dataset, label_smoothing=0.2)
    batch = dataset.train.batch(slice(0, 4))
    output = plain.forward(model, batch)
    assert smooth.loss(output, batch["targets"])[0] == plain.loss(output, batch["targets"])[0]
    assert smooth.training_loss(output, batch["targets"])[0] != plain.loss(output, batch["targets"])[0]


class Says(nn.Module):
    """Always says the same token, and keeps what it was shown."""

    def __init__(self, token, vocabulary):
        super().__init__()
        self.token, self.vocabulary, self.shown = token, vocabulary, []

    def forward(self, source, target):
        self.shown.append(target)
        return 9.0 * nn.functional.one_hot(torch.full_like(target, self.token), self.vocabulary).float()


def test_with_scheduled_sampling_a_share_of_the_tokens_before_are_the_models_own(dataset):
    task = task_of(dataset, scheduled_sampling=0.5, ramp=2)
    train = task.encoded(dataset.train)
    says = Says(5, task.outputs)
    shares = []
    for epoch in range(4):
        batch = train.for_epoch(0, epoch).batch(slice(0, 64))
        before = batch["targets"][:, :-1]
        task.forward(says, batch)
        read = says.shown[-1]
        assert torch.equal(read[:, 0], before[:, 0])
        assert ((read == before) | (read == 5)).all()
        others = before[:, 1:] != 5
        shares.append((read[:, 1:] != before[:, 1:])[others].float().mean().item())
    assert shares[0] == 0
    assert shares[1:] == pytest.approx([0.25, 0.5, 0.5], abs=0.06)
    assert "own" not in dataset.test.batch(slice(0, 2))


def test_a_baseline_knows_the_targets_and_not_the_sources(dataset, model):
    task = task_of(dataset)
    baselines = task.baselines(dataset.train, model)
    uniform, trigrams = (evaluate(b, task, dataset.test)["loss"] for b in baselines.values())
    assert uniform == pytest.approx(math.log(task.outputs), rel=1e-4)
    assert trigrams < uniform
    batch = dataset.test.batch(slice(0, 5))
    strongest = list(baselines.values())[-1]
    other = {**batch, "inputs": batch["inputs"].flip(0)}
    assert torch.equal(task.forward(strongest, batch), task.forward(strongest, other))


def test_texts_are_scored_as_sacrebleu_scores_them():
    texts = ["the cat sat on the mat", "a dog runs in the park today", "nothing of this"]
    references = ["the cat sat on the mat", "a dog is running in the park", "something else"]
    figures = text_scores(texts, references)
    assert figures["exact_match"] == pytest.approx(1 / 3)
    assert figures["bleu"] == sacrebleu.corpus_bleu(texts, [references]).score
    assert figures["chrf"] == sacrebleu.corpus_chrf(texts, [references]).score
    assert signatures()["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a")


def test_without_sacrebleu_there_is_exact_match_alone(monkeypatch):
    from gradlab.tasks import text_scores as module

    monkeypatch.setattr(module, "corpus_metrics", dict)
    assert module.text_scores(["a"], ["a"]) == {"exact_match": 1.0}
    assert module.signatures() == {}


def test_what_is_written_begins_with_the_prefix_and_says_how_much_of_the_source_was_looked_at(dataset, model):
    task = task_of(dataset, beam=3)
    plain = task.answers(model, dataset.test.inputs.subset(range(6)))
    forced = task.writing(2, "cab").answers(model, dataset.test.inputs.subset(range(6)))
    assert all(one["text"].startswith("cab") for one in forced)
    assert not all(one["text"].startswith("cab") for one in plain)
    assert all(0 < one["coverage"] <= 1.0001 and one["score"] < 0 for one in plain)
    with pytest.raises(GradlabError, match="'ü'"):
        task.writing(None, "ü").answers(model, dataset.test.inputs.subset(range(1)))
    with pytest.raises(GradlabError, match="temperature"):
        task.answers(model, dataset.test.inputs, temperature=2.0)


def test_a_source_that_is_looked_at_evenly_is_covered_evenly(dataset, model):
    """Weights of 1/n over n positions: t tokens cover min(1, t/n) of each."""
    from gradlab.tasks.written import _coverage

    source = dataset.test.inputs[:4]
    lengths = (source != 0).sum(1)
    weights = (source != 0)[:, None] / lengths[:, None, None]
    fixed = SimpleNamespace(
        memory=model.encode(source),
        decoder=SimpleNamespace(alignment=lambda target, memory: weights.expand(-1, target.shape[1], -1)),
    )
    target = torch.tensor([[2, 5, 5, 3]] * 4)
    assert _coverage(fixed, target).tolist() == pytest.approx([min(1.0, 3 / n) for n in lengths.tolist()])


def test_other_data_are_refused():
    with pytest.raises(GradlabError, match="needs pairs"):
        tasks.build(tasks.resolve(Part("seq2seq"), "task"), Targets(tokens=5))
    with pytest.raises(GradlabError, match="task=seq2seq can learn"):
        load(sources.resolve(Part("dates", {"examples": 50}), "data"), "classes")
