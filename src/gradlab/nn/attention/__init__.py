"""Attention: a weighted mean of values, with weights by how well each key fits the query."""

from gradlab.nn.attention.dot_product import DotAttention, HardAttention, ScaledDotAttention
from gradlab.nn.attention.features import CoshFeatures, ELUFeatures, FourierFeatures, PositiveFeatures, PositiveMap
from gradlab.nn.attention.linear import LinearAttention, PerformerAttention
from gradlab.nn.attention.masks import causal_mask, length_mask, masked_softmax
from gradlab.nn.attention.multihead import AttentionCache, MultiheadAttention
from gradlab.nn.attention.pooling import (
    BoxcarAttention,
    EpanechnikovAttention,
    GaussianAttention,
    KernelAttention,
    TriangularAttention,
)
from gradlab.nn.attention.scores import AdditiveAttention, Attention, GeneralAttention, ReducedRankAttention, attend

__all__ = [
    "AdditiveAttention",
    "Attention",
    "BoxcarAttention",
    "AttentionCache",
    "CoshFeatures",
    "DotAttention",
    "ELUFeatures",
    "EpanechnikovAttention",
    "FourierFeatures",
    "GaussianAttention",
    "GeneralAttention",
    "HardAttention",
    "KernelAttention",
    "LinearAttention",
    "MultiheadAttention",
    "PerformerAttention",
    "PositiveFeatures",
    "PositiveMap",
    "ReducedRankAttention",
    "ScaledDotAttention",
    "TriangularAttention",
    "attend",
    "causal_mask",
    "length_mask",
    "masked_softmax",
]
