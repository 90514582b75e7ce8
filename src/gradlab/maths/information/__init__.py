"""Information: surprise, entropies, divergences, their estimates from samples, and codes that come near them."""

from gradlab.maths.information.differential import (
    differential_entropy,
    entropy_by_quadrature,
    kl_by_quadrature,
    pushforward,
)
from gradlab.maths.information.estimators import Estimate, entropy_estimate, mutual_information_estimate
from gradlab.maths.information.huffman import HuffmanCode, huffman
from gradlab.maths.information.measures import (
    conditional_entropy,
    cross_entropy,
    entropy,
    jensen_shannon,
    joint_entropy,
    kl,
    mutual_information,
    pointwise_mutual_information,
    surprise,
    total_variation,
)

__all__ = [
    "Estimate",
    "HuffmanCode",
    "conditional_entropy",
    "cross_entropy",
    "differential_entropy",
    "entropy",
    "entropy_by_quadrature",
    "entropy_estimate",
    "huffman",
    "jensen_shannon",
    "joint_entropy",
    "kl",
    "kl_by_quadrature",
    "mutual_information",
    "mutual_information_estimate",
    "pointwise_mutual_information",
    "pushforward",
    "surprise",
    "total_variation",
]
