"""Models that read a source and write a target: sentences to sentences, or pictures to sentences."""

from gradlab.models.seq2seq.captions import caption_rnn, caption_transformer
from gradlab.models.seq2seq.model import Conditioned, EncoderDecoderModel, Memory
from gradlab.models.seq2seq.presets import marian, t5
from gradlab.models.seq2seq.recurrent import RecurrentDecoder, RecurrentSettings
from gradlab.models.seq2seq.recurrent_encoder import RecurrentEncoder
from gradlab.models.seq2seq.regions import RegionEncoder
from gradlab.models.seq2seq.transformer import (
    Seq2SeqSettings,
    SourceEncoder,
    TargetDecoder,
    transformer_seq2seq,
)

__all__ = [
    "RegionEncoder",
    "caption_rnn",
    "caption_transformer",
    "Conditioned",
    "EncoderDecoderModel",
    "Memory",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentSettings",
    "Seq2SeqSettings",
    "TargetDecoder",
    "SourceEncoder",
    "marian",
    "t5",
    "transformer_seq2seq",
]
