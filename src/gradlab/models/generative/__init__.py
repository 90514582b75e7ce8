"""Models that examples are drawn from."""

from gradlab.models.generative.score_mlp import ScoreMLP, ScoreMLPSettings, score_mlp
from gradlab.models.generative.unet import UNet, UNetSettings, unet

__all__ = ["ScoreMLP", "ScoreMLPSettings", "UNet", "UNetSettings", "score_mlp", "unet"]
