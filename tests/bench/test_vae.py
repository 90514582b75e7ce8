"""An autoencoder beside the usual loop: the same weights, the same work, and a table of it; at small sizes."""

import io

import pytest
import torch
from rich.console import Console

from gradlab.bench.vae import speed as bench_module
from gradlab.bench.vae.speed import VAERow, VAETrained, bench_vae
from gradlab.bench.vae.work import UsualVAE, VAEWork, by_gradlab, by_the_usual_loop
from gradlab.cli.benchmarks.vae import show_vae
from gradlab.data import Targets
from gradlab.errors import GradlabError
from gradlab.tasks.generative import VariationalAutoencoder


@pytest.fixture(scope="module")
def work():
    return VAEWork(hidden=16, latent=3, rows=128, batch=16, steps=16)


def test_both_loops_train_as_many_weights_on_the_same_pictures(work):
    ours, theirs = by_gradlab(work), by_the_usual_loop(work, threads=1)
    assert ours["parameters"] == theirs["parameters"]
    assert ours["pictures"] == theirs["pictures"] == 256
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=0.02)
    assert min(ours["milliseconds"], theirs["milliseconds"]) > 0


def test_the_usual_loop_has_our_first_weights_and_our_loss(work):
    ours, theirs = work.model(), UsualVAE(16, 3).take(work.model())
    x = work.pictures[:5]
    torch.manual_seed(3)
    losses = VariationalAutoencoder(Targets()).objectives()["bound"].loss(ours, {"inputs": x})
    torch.manual_seed(3)
    q, p = theirs(x)
    torch.testing.assert_close(-p.log_prob(x.flatten(1)).sum(), losses["reconstruction"][0])
    prior = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    torch.testing.assert_close(torch.distributions.kl_divergence(q, prior).sum(), losses["kl"][0])


def test_other_work_is_refused(monkeypatch):
    answer = {"milliseconds": 1.0, "cpu_milliseconds": 1.0, "pictures_per_second": 1.0, "pictures": 1, "parameters": 1}
    monkeypatch.setattr(bench_module, "start", lambda module, title, *_: (FakeWorker(title, answer), {}))
    with pytest.raises(GradlabError, match=r"does other work than gradlab: its loss is 300.* They cannot be compared"):
        bench_vae(lambda _: None, rounds=1)


class FakeWorker:
    def __init__(self, title, answer):
        self.answer = {**answer, "losses": [200.0, 200.0] if title == "gradlab" else [200.0, 300.0]}

    def ask(self, question):
        return self.answer


def test_the_table_says_what_was_measured():
    row = VAERow(title="gradlab", ratio=0.5, cpu=0.52, milliseconds=3.1, pictures_per_second=41290, losses=[200.0, 150])
    about = {"title": "784-400-20", "reference": "usual", "rounds": 3, "parameters": 652_824}
    screen = Console(file=io.StringIO(), width=120)
    show_vae(screen, [VAETrained(rows=[row], device="CPU", versions="gradlab 1", **about)])
    text = screen.file.getvalue()
    assert ["gradlab", "0.50", "0.52", "3.10", "41,290", "200.00,", "150.00"] in [
        line.split() for line in text.splitlines()
    ]
    assert "653 k parameters: ratio to usual" in text
