"""Recipes that learn from rows of numbers: small tables, points in the plane, known laws, and one's own files."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


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
    return variant("breast-cancer-mlp", wine_mlp(), data="breast-cancer", train__epochs=40)


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
def moons_svm() -> Recipe:
    """Two half moons by a support vector machine with a kernel: the report draws margin and support vectors."""
    # Its optimum is what is asked for, not the step with the least loss on the way there.
    train = {"epochs": 12, "batch_size": "full", "keep": "last"}
    model = Part("support-vector-classifier", {"updates": 20})
    return Recipe("moons-svm", Part("moons"), model, Part("margin"), train)


@recipe
def breast_cancer_svm() -> Recipe:
    """Malignant or benign by the linear support vector machine, the squared hinge and L-BFGS: LinearSVC's optimum."""
    train = {"epochs": 20, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0, "keep": "last"}
    task = Part("margin", {"squared": True, "C": 1.0})
    return Recipe("breast-cancer-svm", Part("breast-cancer"), Part("linear"), task, train)


@recipe
def circles_mlp() -> Recipe:
    """A circle inside another."""
    return variant("circles-mlp", moons_mlp(), data="circles")


@recipe
def spirals_mlp() -> Recipe:
    """Two interleaved spirals, which take more capacity and patience."""
    changes = {"data": "spirals", "model__hidden": [64, 64], "train__epochs": 150, "train__schedule": "cosine"}
    return variant("spirals-mlp", moons_mlp(), **changes)


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
def breast_cancer_logistic() -> Recipe:
    """Malignant or benign by logistic regression: one logit, L-BFGS and a little weight decay."""
    train = {"epochs": 5, "batch_size": "full", "optimizer": "lbfgs", "lr": 1.0, "weight_decay": 1e-2}
    return Recipe("breast-cancer-logistic", Part("breast-cancer"), Part("linear"), Part("bernoulli"), train)


@recipe
def circles_logistic() -> Recipe:
    """A circle inside another by logistic regression on squares: linear in x² and y², a circle in the plane."""
    changes = {"data": "circles", "model__degree": 2, "train__weight_decay": 1e-4}  # which the separable classes need
    return variant("circles-logistic", breast_cancer_logistic(), **changes)


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
