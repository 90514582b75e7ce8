"""Training pictures drawn anew in each epoch: a pure function of (seed, epoch, example), computed on their device."""

from gradlab.data.pictures.augmentation.settings import Augmentation, augmentations
from gradlab.data.pictures.augmentation.view import Augmented

__all__ = ["Augmentation", "Augmented", "augmentations"]
