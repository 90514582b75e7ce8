"""Recipes that read a sequence and write another: dates, translations, captions, forecasts, and tests of memory."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


@recipe
def dates_seq2seq() -> Recipe:
    """Dates as people write them in many languages, to their ISO form, by GRUs with attention. Needs gradlab[text]."""
    train = {"epochs": 5, "batch_size": 64, "lr": 2e-3, "clip": 1.0, "schedule": "one-cycle"}
    data = Part("dates", {"tokenizer": "char"})
    model = Part("seq2seq-rnn", {"cell": "gru", "dim": 64, "hidden": 128})
    return Recipe("dates-seq2seq", data, model, Part("seq2seq"), train)


@recipe
def dates_transformer() -> Recipe:
    """Dates as people write them in many languages, to their ISO form, by a small transformer. Needs gradlab[text]."""
    model = Part("seq2seq-transformer", {"dim": 64, "layers": 2, "heads": 4})
    return variant("dates-transformer", dates_seq2seq(), model=model, train__epochs=8)


@recipe
def copy_seq2seq() -> Recipe:
    """Random symbols, to be written again: what one vector, or attention, keeps of a source of up to 20 of them."""
    return variant("copy-seq2seq", dates_seq2seq(), data=Part("copy", {"tokenizer": "char"}), train__epochs=10)


@recipe
def recall_rnn() -> Recipe:
    """The first symbol of a text, after a delay (data.delay): how long an RNN, LSTM or GRU remembers."""
    model = Part("rnn-classifier", {"cell": "lstm", "layers": 1, "dim": 32, "hidden": 64})
    train = {"epochs": 5, "batch_size": 64, "lr": 5e-3, "clip": 1.0, "schedule": "one-cycle"}
    return Recipe("recall-rnn", Part("recall"), model, Part("classify"), train)


@recipe
def adding_rnn() -> Recipe:
    """The sum of two marked numbers of a series (data.length): the adding problem, by an RNN, LSTM or GRU."""
    model = Part("series-rnn", {"cell": "lstm", "hidden": 64})
    data = Part("adding", {"preprocess": "none"})
    return Recipe("adding-rnn", data, model, Part("regress"), {**recall_rnn().train, "epochs": 20})


@recipe
def shapes_caption() -> Recipe:
    """Pictures of coloured shapes to sentences, by a small CNN and a transformer that looks at its regions."""
    model = Part("caption-transformer", {"dim": 64, "layers": 2, "trunk": Part("vgg", {"widths": [16, 32]})})
    train = {"epochs": 4, "batch_size": 32, "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"})}
    return Recipe("shapes-caption", Part("shapes"), model, Part("seq2seq"), train)


@recipe
def captions() -> Recipe:
    """Pictures of one's own with captions (--data FILE.csv, columns file and caption), by a CNN and a transformer."""
    changes = {"data": "captions", "model__trunk__widths": [32, 64, 128], "model__dropout": 0.3, "train__epochs": 20}
    return variant("captions", shapes_caption(), **changes)


@recipe
def translate() -> Recipe:
    """Your own pairs of sentences (--data PAIRS.tsv, or data.source_file and data.target_file), by a transformer."""
    data = Part("pairs", {"tokenizer": "bpe", "vocabulary": 8000, "shared": True})
    model = Part("seq2seq-transformer", {"dim": 256, "layers": 3, "heads": 4, "hidden": 512, "dropout": 0.3})
    train = {"epochs": 30, "batch_size": 128, "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"}), "precision": "auto"}
    return Recipe("translate", data, model, Part("seq2seq", {"label_smoothing": 0.1, "beam": 5}), train)


@recipe
def forecast() -> Recipe:
    """Time series of one's own. Needs --data FILE.csv, data.time=COLUMN, data.target=COLUMN and data.horizon=N."""
    train = {"steps": 800, "batch_size": 64, "optimizer": "adamw", "lr": 2e-3, "weight_decay": 0.01, "clip": 1.0}
    train |= {"schedule": Part("cosine", {"warmup": "auto"})}
    model = Part("series-rnn", {"cell": "gru", "shortcut": True})
    return Recipe("forecast", Part("series"), model, Part("forecast"), train)


@recipe
def seasonal_forecast() -> Recipe:
    """Generated hourly series with a trend, days, weeks, known events and lasting noise: the next day of each."""
    return variant("seasonal-forecast", forecast(), data="seasonal-series", data__horizon=24)
