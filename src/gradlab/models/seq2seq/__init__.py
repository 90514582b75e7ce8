"""Models that read a source and write a target: sentences to sentences, or pictures to sentences."""

from gradlab.models.seq2seq.model import Conditioned, EncoderDecoderModel, Memory
from gradlab.models.seq2seq.recurrent import RecurrentDecoder, RecurrentEncoder, RecurrentSettings
from gradlab.models.seq2seq.transformer import (
    Seq2SeqSettings,
    SourceEncoder,
    TargetDecoder,
    transformer_seq2seq,
)

__all__ = [
    "Conditioned",
    "EncoderDecoderModel",
    "Memory",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentSettings",
    "Seq2SeqSettings",
    "TargetDecoder",
    "SourceEncoder",
    "transformer_seq2seq",
]
