"""Variational autoencoders: losses are those of torch.distributions, likelihoods those of a grid of codes."""

import math

import pytest
import torch
from torch import nn
from torch.distributions import Bernoulli, Normal, kl_divergence

from gradlab.data import Examples, Targets, load, sources
from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.generative import VAE
from gradlab.nn import latent
from gradlab.registry import Part
from gradlab.specs import Picture, Table
from gradlab.tasks import compare, evaluate, tasks
from gradlab.tasks.generative import Request, VariationalAutoencoder, importance
from gradlab.tasks.generative.importance import log_likelihood
from gradlab.tasks.generative.likelihoods import BernoulliPixels, GaussianNumbers

SPEC = Picture(1, 3, 4)


def task_of(**values):
    return tasks.build(tasks.resolve(Part("vae", values), "task"), Targets())


def model_of(task, latent=3, spec=SPEC, spread=0.5):
    torch.manual_seed(1)
    model = build_model(Part("vae", {"latent": latent, "hidden": [6, 5]}), spec, task.outputs)
    for parameter in model.parameters():  # so that every term of every loss matters
        nn.init.normal_(parameter, std=spread)
    return model


def examples(task, count=40):
    x = torch.rand(count, *SPEC.shape)
    return Examples.of((x > 0.6).float() if task.decoder == "bernoulli" else 2 * x - 1, torch.zeros(count))


def by_distributions(task, model, x, noise):
    """log p(x | z), log p(z) and log q(z | x) of each draw, KL in closed form, all by torch.distributions."""
    mean, log_variance = model.encode(x)
    q, prior = Normal(mean, (0.5 * log_variance).exp()), Normal(0.0, 1.0)
    z = q.mean + q.stddev * noise
    decoded = model.decode(z)
    scale = model.log_scale.exp() if task.outputs == 2 else task.scale
    p = Bernoulli(logits=decoded) if task.decoder == "bernoulli" else Normal(decoded, scale)
    sums = (part.sum(-1) for part in (p.log_prob(x.flatten(1)), prior.log_prob(z), q.log_prob(z)))
    return *sums, kl_divergence(q, prior)


KINDS = [
    {},
    {"samples": 4},
    {"estimator": "monte-carlo", "samples": 3},
    {"beta": 0.3},
    {"free_bits": 0.4},
    {"bound": "iwae", "samples": 5},
    {"decoder": "gaussian", "scale": 0.3},
    {"decoder": "gaussian"},
    {"decoder": "gaussian", "bound": "iwae", "samples": 2},
]


@pytest.mark.parametrize("values", KINDS, ids=str)
def test_losses_and_gradients_are_those_of_torch_distributions(values):
    task = task_of(**values)
    model, x = model_of(task).double(), examples(task).inputs[:7].double()
    torch.manual_seed(5)
    losses = task.objectives()["bound"].loss(model, {"inputs": x})
    torch.manual_seed(5)
    noise = torch.randn(task.samples, 7, 3, dtype=torch.float64)
    evidence, prior, posterior, kl = by_distributions(task, model, x, noise)
    if task.bound == "iwae":
        wanted = -torch.exp(evidence + prior - posterior).mean(0).log().sum()
    elif task.estimator == "monte-carlo":
        wanted = -(evidence + prior - posterior).mean(0).sum()
    else:
        wanted = task.beta * kl.clamp(min=task.free_bits).sum() - evidence.mean(0).sum()
    assert {count for _, count in losses.values()} == {7}
    total = sum(part for part, _ in losses.values())
    torch.testing.assert_close(total, wanted, rtol=2e-6, atol=1e-5)
    got, want = (torch.autograd.grad(loss, [*model.parameters()], allow_unused=True) for loss in (total, wanted))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(losses["reconstruction"][0], -evidence.mean(0).sum(), rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize("decoder", ["bernoulli", "gaussian"])
def test_figures_are_means_over_examples_whatever_training_weighs(decoder):
    task = task_of(decoder=decoder, beta=3.0, free_bits=1.0)
    model, split = model_of(task), examples(task)
    figures = evaluate(model, task, split)
    torch.manual_seed(2**31 + 11)
    with torch.no_grad():
        evidence, _, _, kl = by_distributions(task, model, split.inputs[:], torch.randn(1, 40, 3))
    assert figures["kl"] == pytest.approx(kl.sum(-1).mean().item(), rel=1e-5)
    assert figures["elbo"] == pytest.approx((evidence[0] - kl.sum(-1)).mean().item(), rel=1e-5)
    assert figures["loss"] == -figures["elbo"]
    assert figures["bits_per_dim"] == pytest.approx(figures["loss"] / 12 / math.log(2))
    assert not task.trains_by_its_loss
    assert [name for name in ("elbo", "nll", "loss", "bits_per_dim") if task.higher_is_better(name)] == ["elbo"]


def test_the_likelihood_of_a_finished_model_is_that_of_a_grid_of_codes():
    task = task_of(importance_samples=3000)
    model = model_of(task, latent=1)
    split = examples(task, 25)
    grid = torch.linspace(-8, 8, 4001)[:, None, None]
    with torch.no_grad():
        joint = Bernoulli(logits=model.decode(grid)).log_prob(split.inputs[:].flatten(1)).sum(-1)
        joint = joint + Normal(0.0, 1.0).log_prob(grid[:, 0])
        exact = joint.logsumexp(0) + math.log(16 / 4000)
    figures = evaluate(model, task, split, finished=True)
    assert figures["nll"] == pytest.approx(-exact.mean().item(), abs=4 * figures["nll_draws_error"] + 1e-4)
    assert 0 < figures["nll_draws_error"] < 0.02
    assert figures["nll_error"] == pytest.approx(exact.std(correction=0).item() / 5, rel=0.02)
    assert figures["nll"] < figures["loss"]
    assert "3,000 codes" in task.signatures["nll"]


@pytest.mark.parametrize("values", [{}, {"estimator": "monte-carlo"}, {"bound": "iwae", "samples": 3}])
def test_the_standard_error_of_the_elbo_is_how_much_it_differs_between_splits_and_draws(values):
    task = task_of(importance_samples=2, **values)
    model, split = model_of(task, spread=0.8), examples(task, 60)
    told = evaluate(model, task, split, finished=True)
    elbos = []
    for seed in range(400):  # as many other examples, drawn from these, and other codes
        torch.manual_seed(seed)
        x = split.inputs[torch.randint(60, (60,))]
        with torch.no_grad():
            losses = task._losses(model, {"inputs": x})
        elbos.append(-(losses["reconstruction"][0] + losses["kl"][0]).item() / 60)
    assert told["elbo_error"] == pytest.approx(torch.tensor(elbos).std().item(), rel=0.15)


def test_the_variances_of_both_estimates_of_the_elbo_are_those_of_their_draws():
    task = task_of(importance_samples=2)
    model, split = model_of(task, spread=0.8), examples(task, 400)
    told = evaluate(model, task, split, finished=True)
    with torch.no_grad():
        evidence, prior, posterior, _ = by_distributions(task, model, split.inputs[:], torch.randn(200, 400, 3))
    assert told["elbo_variance_closed"] == pytest.approx(evidence.var(0).mean().item(), rel=0.05)
    assert told["elbo_variance_drawn"] == pytest.approx((evidence + prior - posterior).var(0).mean().item(), rel=0.05)
    assert "elbo_variance_drawn" in task.signatures["elbo"]


def test_the_error_of_the_draws_is_how_much_estimates_differ():
    task = task_of()
    model, x = model_of(task, spread=0.15), examples(task).inputs[:4]
    with torch.no_grad():
        found = [log_likelihood(model, task.likelihood, x, 100) for _ in range(300)]
    spread = torch.stack([one.value for one in found]).var(0)
    claimed = torch.stack([one.variance for one in found]).mean(0)
    assert ((claimed / spread).log().abs() < 0.35).all()


def test_draws_in_chunks_are_summed_as_if_at_once(monkeypatch):
    task = task_of()
    model, x = model_of(task), examples(task).inputs[:4]
    drawn = []

    def draw(mean, log_variance, samples):
        drawn.append(latent.draw(mean, log_variance, samples))
        return drawn[-1]

    monkeypatch.setattr(importance, "draw", draw)
    with torch.no_grad():
        found = log_likelihood(model, task.likelihood, x, 23, numbers=48 * 5)
        assert [len(codes.z) for codes in drawn] == [5, 5, 5, 5, 3]
        noise = torch.cat([codes.noise for codes in drawn])
        evidence, prior, posterior, _ = by_distributions(task, model, x, noise)
    weights = (evidence + prior - posterior).double().exp()
    torch.testing.assert_close(found.value, weights.mean(0).log(), rtol=1e-5, atol=1e-5)
    variance = weights.var(0) / weights.mean(0) ** 2 / 23
    torch.testing.assert_close(found.variance, variance, rtol=1e-4, atol=1e-6)


def test_baselines_have_the_likelihood_of_their_distributions():
    task = task_of()
    train, test = examples(task, 200), examples(task, 50)
    model = model_of(task)
    pixels = task.baselines(train, model)["independent pixels"]
    share = (train.inputs.sum(0) + 1) / 202
    wanted = Bernoulli(share).log_prob(test.inputs).flatten(1).sum(1).mean()
    figures = compare({"independent": pixels}, task, test)["independent"]
    assert figures["elbo"] == pytest.approx(wanted.item(), rel=1e-5)
    assert (figures["kl"], figures["nll"]) == (0.0, figures["loss"])
    assert torch.allclose(task.sample(pixels, 4000).mean(0), share, atol=0.05)

    task = task_of(decoder="gaussian", scale=0.1)
    train, test = examples(task, 200), examples(task, 50)
    train.inputs[:, 0, 0, 0] = 0.5  # which never changes
    numbers = task.baselines(train, model)["independent Gaussians"]
    std = train.inputs.std(0, correction=0).clamp(min=0.1)
    wanted = Normal(train.inputs.mean(0), std).log_prob(test.inputs).flatten(1).sum(1).mean()
    assert evaluate(numbers, task, test)["elbo"] == pytest.approx(wanted.item(), rel=1e-5)
    assert torch.allclose(task.sample(numbers, 4000).std(0), std, atol=0.05)


@pytest.mark.parametrize(("decoder", "scale", "noise"), [("bernoulli", None, None), ("gaussian", 0.5, 0.5)])
def test_samples_are_drawn_from_what_is_decoded(decoder, scale, noise):
    task = task_of(decoder=decoder, scale=scale)
    model = model_of(task)
    model.decode = lambda z: torch.full((len(z), 12), 0.4)  # the same whatever z is
    drawn = task.sample(model, 4000)
    mean = 0.4 if noise else 1 / (1 + math.exp(-0.4))
    assert drawn.shape == (4000, 1, 3, 4)
    assert drawn.mean().item() == pytest.approx(mean, abs=0.02)
    assert drawn.std().item() == pytest.approx(noise or math.sqrt(mean * (1 - mean)), abs=0.02)


class NotedSamples:
    """A judge that notes the samples it is asked to judge."""

    def quality(self, draw, inputs):
        self.samples = draw(2000)
        return {}

    def of_real(self, inputs):
        return {}


@pytest.mark.parametrize(("asked", "std"), [(Request(pixel_noise=False), 0.0), (Request(), 0.5)])
def test_pixel_noise_is_sampled_only_where_it_is_requested(asked, std):
    task = task_of(decoder="gaussian", scale=0.5)
    model = model_of(task)
    model.decode = lambda z: torch.full((len(z), 12), 0.4)
    samples = task.sample(model, 4000, asked)
    assert samples.mean().item() == pytest.approx(0.4, abs=0.02)
    assert samples.std().item() == pytest.approx(std, abs=0.02)


def test_a_judge_compares_samples_with_pixel_noise():
    task = task_of(decoder="gaussian", scale=0.5)
    model = model_of(task)
    model.decode = lambda z: torch.full((len(z), 12), 0.4)
    task.judge = NotedSamples()
    task.final_figures(model, examples(task))
    assert task.judge.samples.std().item() == pytest.approx(0.5, abs=0.02)


def test_noise_is_decoded_to_means():
    task = task_of()
    model = model_of(task)
    noise = task.noise(model, 5)
    assert noise.shape == (5, 3)
    drawn = task.from_noise(model, noise, Request())
    assert torch.equal(drawn, model.decode(noise).sigmoid().view(5, 1, 3, 4))
    torch.manual_seed(2)
    first = task.sample(model, 5)
    torch.manual_seed(2)
    assert torch.equal(first, task.sample(model, 5))
    x = examples(task).inputs
    assert torch.allclose(task.encode(model, x), model.encode(x)[0])
    assert torch.allclose(task.reconstruct(model, x), model(x).sigmoid().view(40, 1, 3, 4))


def test_the_decoder_is_the_encoder_turned_round():
    model = VAE(Table(9), 2, latent=4, hidden=[7, 5])
    widths = [(m.in_features, m.out_features) for m in model.modules() if isinstance(m, nn.Linear)]
    assert widths == [(9, 7), (7, 5), (5, 8), (4, 5), (5, 7), (7, 9)]
    assert model.log_scale.shape == ()
    assert VAE(Table(9), 1).log_scale is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scale": 0.5}, "task.scale is for task.decoder=gaussian"),
        ({"bound": "iwae", "beta": 2.0}, "task.beta changes the KL"),
        ({"bound": "iwae", "free_bits": 0.1}, "task.free_bits changes the KL"),
        ({"estimator": "monte-carlo", "free_bits": 0.1}, "task.estimator=closed-form"),
        ({"samples": 0}, "task.samples"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(values, words):
    with pytest.raises(GradlabError, match=words):
        task_of(**values)


def test_models_and_data_that_do_not_fit_are_refused():
    task = task_of()
    split = examples(task)
    with pytest.raises(GradlabError, match="Take model=vae"):
        task.check(nn.Linear(2, 2), split)
    with pytest.raises(GradlabError, match=r"reach from -1.* to .*\. Set data\.preprocess=scale"):
        task.check(model_of(task), split.but(inputs=2 * split.inputs - 1))
    learned = task_of(decoder="gaussian")
    with pytest.raises(GradlabError, match=r"no log_scale.*Set task\.scale"):
        learned.check(model_of(task), split)
    learned.check(model_of(learned), split.but(inputs=2 * split.inputs - 1))


def test_likelihoods_are_those_of_torch_distributions():
    x, decoded = (torch.rand(5, 6) > 0.5).float(), 3 * torch.randn(2, 5, 6)
    torch.testing.assert_close(
        BernoulliPixels().log_prob(None, x, decoded), Bernoulli(logits=decoded).log_prob(x).sum(-1)
    )
    torch.testing.assert_close(
        GaussianNumbers(0.7).log_prob(None, x, decoded), Normal(decoded, 0.7).log_prob(x).sum(-1)
    )


def test_the_recipe_beats_independent_pixels_within_a_few_epochs():
    dataset = load(sources.resolve(Part("digits", {"preprocess": "scale", "binarise": "epoch"}), "data"))
    from gradlab.training import driver
    from gradlab.training.plan import Plan, plan_schema

    task = VariationalAutoencoder(dataset.targets)
    torch.manual_seed(0)
    model = build_model(Part("vae", {"latent": 5, "hidden": [64]}), dataset.preprocessing.spec, task.outputs)
    plan = Plan(**plan_schema.resolve({"epochs": 15, "batch_size": 64, "lr": 5e-3}, "test"))
    with driver.training(model, task, dataset.train, None, plan) as run:
        run.run()
    mine = evaluate(model, task, dataset.test)
    theirs = compare(task.baselines(dataset.train, model), task, dataset.test)["independent pixels"]
    assert mine["elbo"] > theirs["elbo"] + 1
