"""Models that say what a picture shows: a network of pictures before a decoder of texts."""

from torch import nn

from gradlab.models.language.transformer import DecoderKnobs
from gradlab.models.registry import models
from gradlab.models.seq2seq.model import EncoderDecoderModel
from gradlab.models.seq2seq.recurrent import RecurrentDecoder, RecurrentDecoderSettings
from gradlab.models.seq2seq.regions import RegionEncoder, RegionSettings, StartingEncoder, picture_of
from gradlab.models.seq2seq.transformer import Seq2SeqSettings, TargetDecoder, reset_parameters
from gradlab.specs import Pair


@models.register("caption-rnn")
def caption_rnn(
    inputs: Pair, outputs: int, *, settings: RecurrentDecoderSettings, regions: RegionSettings
) -> nn.Module:
    """An RNN, LSTM or GRU writes what a picture shows, with attention over its regions or by one vector alone."""
    picture, target = picture_of(inputs)
    sizes = [settings.hidden] * (2 if settings.cell == "lstm" else 1)
    looks = settings.attention != "none"
    encoder = StartingEncoder(picture, settings.hidden, regions, looks=looks, layers=settings.layers, sizes=sizes)
    decoder = RecurrentDecoder(nn.Embedding(target.vocabulary, settings.dim), settings.hidden, settings)
    return EncoderDecoderModel(encoder, decoder)


@models.register("caption-transformer")
def caption_transformer(
    inputs: Pair,
    outputs: int,
    *,
    settings: DecoderKnobs,
    regions: RegionSettings,
) -> nn.Module:
    """A transformer writes what a picture shows, looking at its regions."""
    picture, target = picture_of(inputs)
    chosen = Seq2SeqSettings(**vars(settings))
    decoder = TargetDecoder(nn.Embedding(target.vocabulary, settings.dim), target.context, chosen)
    reset_parameters(decoder, chosen)
    return EncoderDecoderModel(RegionEncoder(picture, settings.dim, regions), decoder)
