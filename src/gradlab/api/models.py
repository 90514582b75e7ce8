"""Trained models in use: what they write, and as Hugging Face reads them."""

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from gradlab.api.runs import load_run
from gradlab.data import Tokenizer
from gradlab.errors import GradlabError
from gradlab.models import pretrained
from gradlab.run import Run
from gradlab.run.samples import Drawn


def generate(model: Any, tokens: Any, max_new_tokens: int, **options: Any) -> Tensor:
    """Prompts (batch, length) and what a model writes after them: greedy, drawn, or searched for by `beam=k`.

    The model is any function of token numbers that gives logits (batch, length, vocabulary). The options are those of
    `gradlab.sampling.generate`: temperature, top_k, top_p, min_p, repetition_penalty, beam, eos, seed, draft and more.
    """
    from gradlab.sampling import generate as generated

    return generated(model, tokens, max_new_tokens, **options)


def sample(run: str | Path | Run, count: int, **wish: Any) -> Drawn:
    """Examples that a generative run draws: `x` in the units of its data and, where it is class-conditional, their `y`.

    gl.sample("runs/digits-vae-3f2a", 64, seed=1).x
    gl.sample("runs/digits-ddpm-3f2a", 8, class_name="7", guidance=2.0, steps=50, sampler="ddim")

    A Gaussian decoder gives the means of p(x | z); with `pixel_noise=True` their noise is sampled too. The same seed
    draws the same samples.
    """
    return load_run(run).sample(count, **wish)


def save_pretrained(model: nn.Module | Run, folder: str | Path, *, tokenizer: Tokenizer | None = None) -> Path:
    """Write a model, or a run's model and its tokenizer, as Hugging Face's `from_pretrained` reads them.

    gl.save_pretrained(gl.load_run("runs/text-gpt-3f2a"), "my-gpt")
    AutoModelForCausalLM.from_pretrained("my-gpt")
    """
    if isinstance(model, Run):
        if tokenizer is None and (model.path / "tokenizer.json").exists():
            tokenizer = model.tokenizer
        model = model.model
    if tokenizer is not None:
        vocabulary = getattr(getattr(model, "encoder", model), "vocabulary", None)
        check_fits(tokenizer, vocabulary, "The tokenizer")
    return pretrained.save_pretrained(model, folder, tokenizer=None if tokenizer is None else tokenizer.to_json())


def check_fits(tokenizer: Tokenizer, vocabulary: int | None, where: str) -> None:
    """Refuse a tokenizer with tokens of which a model has no embeddings; it may have some for more."""
    if vocabulary is not None and len(tokenizer) > vocabulary:
        raise GradlabError(
            f"{where} does not fit the weights: it has {len(tokenizer):,} tokens, and the model has embeddings of "
            f"{vocabulary:,}. Take the tokenizer with which the model was trained."
        )
