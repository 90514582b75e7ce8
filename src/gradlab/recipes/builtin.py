"""The recipes that ship with gradlab; a variant calls its parent and changes it."""

from dataclasses import replace

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe
from gradlab.registry import Part


def _named(name: str, parent: Recipe, **changes: object) -> Recipe:
    return replace(parent.override({k.replace("__", "."): v for k, v in changes.items()}), name=name)


@recipe
def digits_mlp() -> Recipe:
    """Handwritten digits, 8×8 pixels, by a perceptron with one hidden layer."""
    train = {"epochs": 30, "lr": 2e-3, "weight_decay": 1e-4}
    return Recipe("digits-mlp", Part("digits"), Part("mlp", {"hidden": [128]}), Part("classify"), train)


@recipe
def digits_softmax() -> Recipe:
    """Handwritten digits by softmax regression: the linear model to beat."""
    return _named("digits-softmax", digits_mlp(), model="softmax")


@recipe
def digits_dropout() -> Recipe:
    """Handwritten digits by a deeper perceptron with batch normalisation and dropout."""
    changes = {"model__hidden": [256, 256], "model__dropout": 0.3, "model__norm": "batch"}
    return _named("digits-dropout", digits_mlp(), **changes)


@recipe
def digits_trunk() -> Recipe:
    """The digits 0 to 4 by a small residual network, whose weights others can start from: see digits-transfer."""
    changes = {"model": "resnet20", "model__width": 8, "data__classes": list("01234"), "train__epochs": 15}
    return _named("digits-trunk", digits_mlp(), **changes)


@recipe
def digits_transfer() -> Recipe:
    """The digits 5 to 9 from five examples each, by the same network. Try it with --from a run of digits-trunk."""
    few = {"data__limit": 25, "data__validation": 0.0, "train__steps": 100}  # none are left to choose weights by
    return _named("digits-transfer", digits_trunk(), data__classes=list("56789"), **few)


@recipe
def iris_softmax() -> Recipe:
    """Three species of iris from four measurements, by softmax regression with L-BFGS."""
    train = {"epochs": 20, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0, "weight_decay": 1e-2}
    return Recipe("iris-softmax", Part("iris"), Part("softmax"), Part("classify"), train)


@recipe
def wine_mlp() -> Recipe:
    """Three cultivars of wine from chemical measurements."""
    train = {"epochs": 60, "batch_size": 16, "weight_decay": 1e-3}
    return Recipe("wine-mlp", Part("wine"), Part("mlp", {"hidden": [32]}), Part("classify"), train)


@recipe
def breast_cancer_mlp() -> Recipe:
    """Malignant or benign, from thirty measurements of a tumour."""
    return _named("breast-cancer-mlp", wine_mlp(), data="breast-cancer", train__epochs=40)


@recipe
def diabetes_linear() -> Recipe:
    """Disease progression from ten measurements, by linear regression; sex is a category."""
    train = {"epochs": 10, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0}
    return Recipe("diabetes-linear", Part("diabetes", {"one_hot": ["sex"]}), Part("linear"), Part("regress"), train)


@recipe
def diabetes_mlp() -> Recipe:
    """Disease progression by a small perceptron, stopped early."""
    train = {"epochs": 200, "patience": 20, "optimizer": "adamw", "weight_decay": 1e-2}
    parts = Part("diabetes", {"one_hot": ["sex"]}), Part("mlp", {"hidden": [32, 32], "dropout": 0.1})
    return Recipe("diabetes-mlp", *parts, Part("regress"), train)


@recipe
def moons_mlp() -> Recipe:
    """Two half moons in the plane: the report draws the decision regions."""
    train = {"epochs": 60, "lr": 5e-3}
    model = Part("mlp", {"hidden": [32, 32], "activation": "tanh"})
    return Recipe("moons-mlp", Part("moons"), model, Part("classify"), train)


@recipe
def circles_mlp() -> Recipe:
    """A circle inside another."""
    return _named("circles-mlp", moons_mlp(), data="circles")


@recipe
def spirals_mlp() -> Recipe:
    """Two interleaved spirals, which take more capacity and patience."""
    changes = {"data": "spirals", "model__hidden": [64, 64], "train__epochs": 150, "train__schedule": "cosine"}
    return _named("spirals-mlp", moons_mlp(), **changes)


@recipe
def linear_regression() -> Recipe:
    """A known linear law with noise, found again by gradient descent."""
    train = {"epochs": 30, "optimizer": "sgd", "lr": 0.05}
    return Recipe("linear-regression", Part("linear"), Part("linear"), Part("regress"), train)


@recipe
def polynomial_linear() -> Recipe:
    """A cubic curve with noise, by linear regression on powers of the input; the report draws the curve."""
    train = {"epochs": 20, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0}
    return Recipe("polynomial-linear", Part("polynomial"), Part("linear", {"degree": 3}), Part("regress"), train)


@recipe
def mnist_mlp() -> Recipe:
    """MNIST by a perceptron with two hidden layers. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    train = {"epochs": 10, "batch_size": 64}
    return Recipe("mnist-mlp", Part("mnist"), Part("mlp", {"hidden": [512, 512]}), Part("classify"), train)


@recipe
def mnist_lenet() -> Recipe:
    """MNIST by LeNet. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    changes = {"model": "lenet", "train__epochs": 6, "train__schedule": "one-cycle", "train__lr": 3e-3}
    return _named("mnist-lenet", mnist_mlp(), **changes)


@recipe
def digits_cnn() -> Recipe:
    """Handwritten digits by a small convolutional network; pictures are turned and bent a little."""
    augment = Part("pictures", {"rotate": 10.0, "stretch": 0.1, "shear": 0.1})
    model = Part("vgg", {"widths": [32, 64], "hidden": [64], "dropout": 0.3})
    train = {"epochs": 40, "batch_size": 64, "lr": 5e-3, "schedule": "one-cycle", "optimizer": "muon"}
    train |= {"weight_decay": 0.05, "keep": "last"}
    data = Part("digits", {"augment": augment, "validation": 0.0})
    return Recipe("digits-cnn", data, model, Part("classify"), train)


@recipe
def mnist_resnet20() -> Recipe:
    """MNIST by a residual network of 20 layers. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    augment = Part("pictures", {"translate": 2, "rotate": 12.0, "stretch": 0.12, "shear": 0.15})
    train = {"epochs": 20, "batch_size": 512, "lr": 0.01, "optimizer": "adamw", "weight_decay": 0.05}
    train |= {"schedule": "one-cycle", "precision": "auto", "keep": "last"}
    data = Part("mnist", {"augment": augment, "validation": 0.0})
    return Recipe("mnist-resnet20", data, Part("resnet20"), Part("classify", {"label_smoothing": 0.1}), train)


@recipe
def fashion_mnist_resnet20() -> Recipe:
    """Fashion-MNIST by a residual network of 20 layers. Needs `gradlab data fetch fashion-mnist`, or --data FOLDER."""
    augment = Part("pictures", {"flip": True, "translate": 2, "cutout": 8})
    changes = {"data": "fashion-mnist", "data__augment": augment, "data__validation": 0.0, "train__epochs": 40}
    return _named("fashion-mnist-resnet20", mnist_resnet20(), **changes)


@recipe
def cifar10_resnet18() -> Recipe:
    """CIFAR-10 by a residual network of 18 layers. Needs `gradlab data fetch cifar10`, or --data FOLDER."""
    augment = Part("pictures", {"flip": True, "translate": 4, "cutout": 8, "edge": "reflect"})
    rule = {"momentum": 0.9, "iterations": 3, "adjust": "original", "normalised": True, "adamw_rate": 0.02}
    train = {"epochs": 36, "batch_size": 512, "lr": 0.1, "optimizer": Part("muon", rule | {"beta2": 0.95})}
    train |= {"schedule": "polynomial", "precision": "auto", "keep": "last"}
    data = Part("cifar10", {"augment": augment, "validation": 0.0})
    task = Part("classify", {"label_smoothing": 0.1, "tta": "flip"})
    return Recipe("cifar10-resnet18", data, Part("resnet18"), task, train)


@recipe
def cifar10_fast() -> Recipe:
    """CIFAR-10 to 94 % in a few seconds of a GPU. Needs `gradlab data fetch cifar10`, or --data FOLDER."""
    augment = Part("pictures", {"flip": "alternating", "translate": 2, "edge": "reflect"})
    rule = {"momentum": 0.6, "iterations": 3, "adjust": "original", "normalised": True, "adamw_rate": 0.3}
    rule |= {"beta1": 0.85, "beta2": 0.95}
    train = {"epochs": 9, "batch_size": 2000, "lr": 0.24, "optimizer": Part("muon", rule)}
    train |= {"schedule": "polynomial", "precision": "auto", "keep": "last"}
    data = Part("cifar10", {"augment": augment, "validation": 0.0})
    task = Part("classify", {"label_smoothing": 0.2, "tta": "flip-shift"})
    return Recipe("cifar10-fast", data, Part("whitened-cnn"), task, train)


@recipe
def cifar10_small() -> Recipe:
    """CIFAR-10 in some minutes of two cores. Needs `gradlab data fetch cifar10`, or --data FOLDER."""
    changes = {"model__widths": [32, 64, 128], "train__batch_size": 500, "train__epochs": 3, "task__tta": "flip"}
    return _named("cifar10-small", cifar10_fast(), **changes)


@recipe
def fashion_mnist_lenet() -> Recipe:
    """Fashion-MNIST by LeNet. Needs `gradlab data fetch fashion-mnist`, or --data FOLDER."""
    return _named("fashion-mnist-lenet", mnist_lenet(), data="fashion-mnist", train__epochs=10)


@recipe
def cifar10_lenet() -> Recipe:
    """CIFAR-10 by LeNet. Needs `gradlab data fetch cifar10`, or --data FOLDER."""
    return _named("cifar10-lenet", mnist_lenet(), data="cifar10", train__epochs=10)


@recipe
def cifar100_lenet() -> Recipe:
    """CIFAR-100 by LeNet. Needs `gradlab data fetch cifar100`, or --data FOLDER."""
    return _named("cifar100-lenet", cifar10_lenet(), data="cifar100")


@recipe
def npz() -> Recipe:
    """Arrays `x` and integer or text `y` of one's own, by a perceptron. Needs --data FILE.npz."""
    return Recipe("npz", Part("npz"), Part("mlp", {"hidden": [128]}), Part("auto"), {"epochs": 30})


@recipe
def csv() -> Recipe:
    """A table of one's own, by a perceptron. Needs --data FILE.csv and data.target=COLUMN."""
    train = {"epochs": "auto", "batch_size": "auto", "schedule": "one-cycle", "lr": 3e-3, "optimizer": "adamw"}
    model = Part("mlp", {"hidden": [64, 64], "dropout": 0.1})
    return Recipe("csv", Part("csv"), model, Part("auto"), train | {"weight_decay": 1e-2})


@recipe
def images() -> Recipe:
    """Pictures of one's own, a folder for each class, by LeNet. Needs --data FOLDER."""
    return Recipe("images", Part("images"), Part("lenet"), Part("classify"), {"epochs": 20, "batch_size": 32})


@recipe
def breast_cancer_logistic() -> Recipe:
    """Malignant or benign by logistic regression: one logit, L-BFGS and a little weight decay."""
    train = {"epochs": 5, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0, "weight_decay": 1e-2}
    return Recipe("breast-cancer-logistic", Part("breast-cancer"), Part("linear"), Part("bernoulli"), train)


@recipe
def counts_poisson() -> Recipe:
    """Counts of a known log-linear law, found again by Poisson regression."""
    train = {"epochs": 5, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0}
    return Recipe("counts-poisson", Part("counts"), Part("linear"), Part("poisson"), train)


@recipe
def curve_fitting() -> Recipe:
    """Ten noisy points of a sine by a polynomial of degree 9: overfitting on purpose. Try --vary model.degree=1:9."""
    # The powers of one input are nearly dependent: a long history and many iterations reach the exact least squares.
    optimizer = Part("lbfgs", {"history": 50, "iterations": 50})
    train = {"epochs": 50, "batch_size": "full", "optimizer": optimizer, "lr": 1.0, "keep": "last"}
    return Recipe("curve-fitting", Part("sine"), Part("linear", {"degree": 9}), Part("regress"), train)


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
    return _named("pydoc-lstm", pydoc_gpt(), model="rnn", **changes)


@recipe
def pydoc_gru() -> Recipe:
    """Python's own documentation, byte by byte, by a GRU."""
    return _named("pydoc-gru", pydoc_lstm(), model__cell="gru")


@recipe
def pydoc_rnn() -> Recipe:
    """Python's own documentation, byte by byte, by a plain recurrent network."""
    return _named("pydoc-rnn", pydoc_lstm(), model__cell="rnn")


@recipe
def stdlib_gpt() -> Recipe:
    """The source of Python's own library, in byte pairs, by a small transformer."""
    return _named("stdlib-gpt", pydoc_gpt(), data="stdlib", data__tokenizer="bpe", data__size=4_000_000)


@recipe
def text_gpt() -> Recipe:
    """Your own text (--data FILE or FOLDER), by a small transformer."""
    return _named("text-gpt", pydoc_gpt(), data="text")


@recipe
def text_lstm() -> Recipe:
    """Your own text (--data FILE or FOLDER), by an LSTM."""
    return _named("text-lstm", pydoc_lstm(), data="text")


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
    return _named("text-bert", pydoc_bert(), data="text", data__tokenizer="word", data__context=64)


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
    return _named("docstrings-bert", text_classifier(), data="docstrings")


@recipe
def docstrings_rnn() -> Recipe:
    """Which package of Python's library a docstring is of, by an LSTM that reads it in both directions."""
    model = Part("rnn-classifier", {"layers": 1, "dim": 64, "bidirectional": True, "pooling": "mean", "dropout": 0.5})
    return _named("docstrings-rnn", docstrings_bert(), model=model, train__lr=1e-2, train__epochs=12)


@recipe
def docstrings_bag() -> Recipe:
    """Which package of Python's library a docstring is of, by its words alone, whatever their order."""
    return _named("docstrings-bag", docstrings_bert(), model="text-bag", train__lr=1e-2, train__epochs=20)


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
    return _named("dates-transformer", dates_seq2seq(), model=model, train__epochs=8)


@recipe
def copy_seq2seq() -> Recipe:
    """Random symbols, to be written again: what one vector, or attention, keeps of a source of up to 20 of them."""
    return _named("copy-seq2seq", dates_seq2seq(), data=Part("copy", {"tokenizer": "char"}), train__epochs=10)


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
    return _named("captions", shapes_caption(), **changes)


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
    return _named("seasonal-forecast", forecast(), data="seasonal-series", data__horizon=24)
