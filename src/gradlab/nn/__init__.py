"""Building blocks, one idea per file."""

from gradlab.nn import attention, divergences, initialisation, losses, regularisation
from gradlab.nn.activations import (
    ELU,
    GELU,
    Activation,
    Argmax,
    Behaviour,
    Identity,
    LeakyReLU,
    Maxout,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Step,
    Tanh,
)
from gradlab.nn.blocks import ShapeError, block, find_block
from gradlab.nn.convolution import Conv1d, Conv2d
from gradlab.nn.dense import Embedding, Linear
from gradlab.nn.filters import GaussianBlur, MeanBlur, Sharpen, Sobel
from gradlab.nn.normalisation import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from gradlab.nn.perceptron import Perceptron
from gradlab.nn.polynomial import PolynomialFeatures
from gradlab.nn.pooling import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d
from gradlab.nn.position import ALiBi, LearnedPosition, RelativePosition, RotaryPosition, SinusoidalPosition
from gradlab.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell, truncated
from gradlab.nn.regularisation import Dropout, StochasticDepth, Thinning
from gradlab.nn.residual import DenseConnection, Highway, Residual
from gradlab.nn.sizes import output_size
from gradlab.nn.transformer import MLP, DecoderLayer, EncoderDecoder, EncoderLayer, GatedMLP

__all__ = [
    "ALiBi",
    "Activation",
    "Argmax",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm",
    "Behaviour",
    "Conv1d",
    "Conv2d",
    "DecoderLayer",
    "DenseConnection",
    "Dropout",
    "ELU",
    "Embedding",
    "EncoderDecoder",
    "EncoderLayer",
    "GELU",
    "GRU",
    "GRUCell",
    "GatedMLP",
    "GaussianBlur",
    "GroupNorm",
    "Highway",
    "Identity",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPosition",
    "Linear",
    "MLP",
    "MaxPool1d",
    "MaxPool2d",
    "Maxout",
    "MeanBlur",
    "PReLU",
    "Perceptron",
    "PolynomialFeatures",
    "RMSNorm",
    "RNN",
    "RNNCell",
    "ReLU",
    "RelativePosition",
    "Residual",
    "RotaryPosition",
    "ShapeError",
    "Sharpen",
    "SiLU",
    "Sigmoid",
    "SinusoidalPosition",
    "Sobel",
    "Softmax",
    "Softplus",
    "Step",
    "StochasticDepth",
    "Tanh",
    "Thinning",
    "attention",
    "block",
    "divergences",
    "find_block",
    "initialisation",
    "losses",
    "output_size",
    "regularisation",
    "truncated",
]
