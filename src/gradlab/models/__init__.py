"""Named architectures. A builder takes what one input is (`gradlab.specs`) and the number of outputs; its knobs are
keywords. Language models have an output for each token of the vocabulary, whatever number is asked for."""

from gradlab.models.building import build_model
from gradlab.models.encoder_classifier import EncoderClassifier
from gradlab.models.generative import (
    GAN,
    PCA,
    VAE,
    Autoencoder,
    GaussianMixture,
    PixelCNN,
    ScoreMLP,
    UNet,
    pca_gaussian,
)
from gradlab.models.graphs import GraphNetwork
from gradlab.models.highway import highway
from gradlab.models.language import (
    MaskedLanguageModel,
    RecurrentClassifier,
    RecurrentLanguageModel,
    TextClassifier,
    TransformerEncoder,
    TransformerLanguageModel,
)
from gradlab.models.linear import linear, softmax
from gradlab.models.mlp import mlp
from gradlab.models.ngram import NGram
from gradlab.models.policies import ActorCritic, Policy, QNetwork, SoftActorCritic
from gradlab.models.registry import models
from gradlab.models.seq2seq import EncoderDecoderModel
from gradlab.models.series import SeriesRNN, SeriesTransformer
from gradlab.models.support_vectors import SupportVectorClassification, SupportVectorRegression
from gradlab.models.tabular import MonteCarlo, PolicyIteration, QLearning, Sarsa, ValueIteration
from gradlab.models.vision import (
    VisionTransformer,
    cifar_cnn,
    densenet,
    lenet,
    resnet18,
    resnet20,
    resnet32,
    resnet34,
    resnet50,
    resnet56,
    resnext50,
    vgg,
    vit,
)

__all__ = [
    "ActorCritic",
    "Autoencoder",
    "EncoderClassifier",
    "EncoderDecoderModel",
    "GAN",
    "GaussianMixture",
    "GraphNetwork",
    "MaskedLanguageModel",
    "MonteCarlo",
    "NGram",
    "PCA",
    "PixelCNN",
    "Policy",
    "PolicyIteration",
    "QLearning",
    "QNetwork",
    "RecurrentClassifier",
    "RecurrentLanguageModel",
    "Sarsa",
    "ScoreMLP",
    "SupportVectorClassification",
    "SupportVectorRegression",
    "SeriesRNN",
    "SeriesTransformer",
    "SoftActorCritic",
    "TextClassifier",
    "TransformerEncoder",
    "TransformerLanguageModel",
    "UNet",
    "VAE",
    "ValueIteration",
    "VisionTransformer",
    "build_model",
    "cifar_cnn",
    "densenet",
    "highway",
    "lenet",
    "linear",
    "mlp",
    "models",
    "pca_gaussian",
    "resnet18",
    "resnet20",
    "resnet32",
    "resnet34",
    "resnet50",
    "resnet56",
    "resnext50",
    "softmax",
    "vgg",
    "vit",
]
