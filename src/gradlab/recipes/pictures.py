"""Recipes that classify pictures: digits, MNIST and its kin, CIFAR, and one's own."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part


@recipe
def digits_mlp() -> Recipe:
    """Handwritten digits, 8×8 pixels, by a perceptron with one hidden layer."""
    train = {"epochs": 30, "lr": 2e-3, "weight_decay": 1e-4}
    return Recipe("digits-mlp", Part("digits"), Part("mlp", {"hidden": [128]}), Part("classify"), train)


@recipe
def digits_softmax() -> Recipe:
    """Handwritten digits by softmax regression: the linear model to beat."""
    return variant("digits-softmax", digits_mlp(), model="softmax")


@recipe
def digits_dropout() -> Recipe:
    """Handwritten digits by a deeper perceptron with batch normalisation and dropout."""
    changes = {"model__hidden": [256, 256], "model__dropout": 0.3, "model__norm": "batch"}
    return variant("digits-dropout", digits_mlp(), **changes)


@recipe
def digits_trunk() -> Recipe:
    """The digits 0 to 4 by a small residual network, whose weights others can start from: see digits-transfer."""
    changes = {"model": "resnet20", "model__width": 8, "data__classes": list("01234"), "train__epochs": 15}
    return variant("digits-trunk", digits_mlp(), **changes)


@recipe
def digits_transfer() -> Recipe:
    """The digits 5 to 9 from five examples each, by the same network. Try it with --from a run of digits-trunk."""
    few = {"data__limit": 25, "data__validation": 0.0, "train__steps": 100}  # none are left to choose weights by
    return variant("digits-transfer", digits_trunk(), data__classes=list("56789"), **few)


@recipe
def mnist_mlp() -> Recipe:
    """MNIST by a perceptron with two hidden layers. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    train = {"epochs": 10, "batch_size": 64}
    return Recipe("mnist-mlp", Part("mnist"), Part("mlp", {"hidden": [512, 512]}), Part("classify"), train)


@recipe
def mnist_lenet() -> Recipe:
    """MNIST by LeNet. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    changes = {"model": "lenet", "train__epochs": 6, "train__schedule": "one-cycle", "train__lr": 3e-3}
    return variant("mnist-lenet", mnist_mlp(), **changes)


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
    return variant("fashion-mnist-resnet20", mnist_resnet20(), **changes)


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
    return variant("cifar10-small", cifar10_fast(), **changes)


@recipe
def fashion_mnist_lenet() -> Recipe:
    """Fashion-MNIST by LeNet. Needs `gradlab data fetch fashion-mnist`, or --data FOLDER."""
    return variant("fashion-mnist-lenet", mnist_lenet(), data="fashion-mnist", train__epochs=10)


@recipe
def cifar10_lenet() -> Recipe:
    """CIFAR-10 by LeNet. Needs `gradlab data fetch cifar10`, or --data FOLDER."""
    return variant("cifar10-lenet", mnist_lenet(), data="cifar10", train__epochs=10)


@recipe
def cifar100_lenet() -> Recipe:
    """CIFAR-100 by LeNet. Needs `gradlab data fetch cifar100`, or --data FOLDER."""
    return variant("cifar100-lenet", cifar10_lenet(), data="cifar100")


@recipe
def images() -> Recipe:
    """Pictures of one's own, a folder for each class, by LeNet. Needs --data FOLDER."""
    return Recipe("images", Part("images"), Part("lenet"), Part("classify"), {"epochs": 20, "batch_size": 32})
