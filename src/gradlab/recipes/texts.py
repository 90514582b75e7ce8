"""Recipes that learn from texts: what comes next, what is hidden, and which class a text is of."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


@recipe
def pydoc_gpt() -> Recipe:
    """Python's own documentation, byte by byte, by a small transformer."""
    train = {"steps": 2000, "batch_size": 16, "optimizer": "adamw", "lr": 3e-3, "weight_decay": 0.1, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"})}
    # The shape of Llama: at this size it learns more in the same time than that of GPT-2.
    model = Part("gpt", {"position": "rotary", "norm": "rms", "gated": True, "bias": False})
    return Recipe("pydoc-gpt", Part("pydoc"), model, Part("language"), train)


@recipe
def pydoc_ngram() -> Recipe:
    """Python's own documentation, byte by byte, by counting trigrams."""
    return Recipe("pydoc-ngram", Part("pydoc"), Part("ngram"), Part("language"), {"steps": 1})


@recipe
def pydoc_lstm() -> Recipe:
    """Python's own documentation, byte by byte, by an LSTM."""
    changes = {"train__batch_size": 32, "train__lr": 1e-2, "train__weight_decay": 0.0, "train__carry": True}
    return variant("pydoc-lstm", pydoc_gpt(), model="rnn", **changes)


@recipe
def pydoc_gru() -> Recipe:
    """Python's own documentation, byte by byte, by a GRU."""
    return variant("pydoc-gru", pydoc_lstm(), model__cell="gru")


@recipe
def pydoc_rnn() -> Recipe:
    """Python's own documentation, byte by byte, by a plain recurrent network."""
    return variant("pydoc-rnn", pydoc_lstm(), model__cell="rnn")


@recipe
def stdlib_gpt() -> Recipe:
    """The source of Python's own library, in byte pairs, by a small transformer."""
    return variant("stdlib-gpt", pydoc_gpt(), data="stdlib", data__tokenizer="bpe", data__size=4_000_000)


@recipe
def text_gpt() -> Recipe:
    """Your own text (--data FILE or FOLDER), by a small transformer."""
    return variant("text-gpt", pydoc_gpt(), data="text")


@recipe
def text_lstm() -> Recipe:
    """Your own text (--data FILE or FOLDER), by an LSTM."""
    return variant("text-lstm", pydoc_lstm(), data="text")


@recipe
def pydoc_bert() -> Recipe:
    """Hidden words of Python's own documentation, by a small transformer that sees both sides of them."""
    data = Part("pydoc", {"tokenizer": "word", "context": 64})
    model = Part("bert", {"layers": 2, "dim": 64, "norm_first": True})
    train = {"steps": 1000, "batch_size": 32, "optimizer": "adamw", "lr": 3e-3, "weight_decay": 0.01, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"})}
    return Recipe("pydoc-bert", data, model, Part("masked"), train)


@recipe
def text_bert() -> Recipe:
    """Hidden words of your own text (--data FILE or FOLDER), by a small transformer that sees both sides of them."""
    return variant("text-bert", pydoc_bert(), data="text", data__tokenizer="word", data__context=64)


@recipe
def text_classifier() -> Recipe:
    """Texts of one's own in classes (--data FILE.csv or FOLDER, data.text, data.target), by a small transformer."""
    model = Part("bert-classifier", {"layers": 2, "pooling": "mean", "norm_first": True, "dropout": 0.1})
    train = {"epochs": 8, "batch_size": 32, "optimizer": "adamw", "lr": 1e-3, "weight_decay": 0.01, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"})}
    return Recipe("text-classifier", Part("texts"), model, Part("classify"), train)


@recipe
def docstrings_bert() -> Recipe:
    """Which package of Python's library a docstring is of, by a small transformer."""
    return variant("docstrings-bert", text_classifier(), data="docstrings")


@recipe
def docstrings_rnn() -> Recipe:
    """Which package of Python's library a docstring is of, by an LSTM that reads it in both directions."""
    model = Part("rnn-classifier", {"layers": 1, "dim": 64, "bidirectional": True, "pooling": "mean", "dropout": 0.5})
    return variant("docstrings-rnn", docstrings_bert(), model=model, train__lr=1e-2, train__epochs=12)


@recipe
def docstrings_bag() -> Recipe:
    """Which package of Python's library a docstring is of, by its words alone, whatever their order."""
    return variant("docstrings-bag", docstrings_bert(), model="text-bag", train__lr=1e-2, train__epochs=20)
