"""Models in the format of Hugging Face: config.json and model.safetensors, read and written without their library."""

from gradlab.models.pretrained.reading import from_pretrained
from gradlab.models.pretrained.writing import save_pretrained

__all__ = ["from_pretrained", "save_pretrained"]
