"""What is drawn anew of each training picture, as knobs of a recipe: `data.augment.flip=true`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from gradlab.data.pictures.augmentation.geometry import Edge
from gradlab.errors import GradlabError
from gradlab.registry import Natural, Probability, Registry
from gradlab.specs import Picture, Spec

Spread = Annotated[float, Ge(0), Le(100)]

augmentations: Registry["Augmentation"] = Registry("augmentation", default="pictures")


@augmentations.register("pictures")
@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Pictures moved, bent, coloured, covered and mixed at random, evenly within the bounds that are set."""

    flip: Annotated[
        bool | Literal["alternating"], "mirrored left to right: half of them, or each in every other epoch"
    ] = False
    translate: Annotated[Natural, "most pixels it is moved by in each direction, as by padding and cutting"] = 0
    crop: Annotated[
        float, Gt(0), Le(1), "least share of each side of which a part is cut out, and enlarged to the whole"
    ] = 1.0
    rotate: Annotated[float, Ge(0), Le(180), "most degrees it is turned by"] = 0.0
    stretch: Annotated[float, Ge(0), Le(10), "most it grows along each axis, or shrinks as much: 0.1 is ×1.1"] = 0.0
    shear: Annotated[Probability, "most pixels that a row is moved by beside the next one"] = 0.0
    lens: Annotated[float, Ge(0), Le(0.3), "most its corners are bent outwards or inwards, as a share"] = 0.0
    brightness: Annotated[Probability, "most that raw values grow or shrink, as a share"] = 0.0
    contrast: Annotated[Probability, "most that distances from the mean grey grow or shrink, as a share"] = 0.0
    saturation: Annotated[Probability, "most that distances from grey grow or shrink, as a share"] = 0.0
    cutout: Annotated[Natural, "side of a square, in pixels, that is set to 0"] = 0
    mixup: Annotated[Spread, "α of the Beta(α, α) by which two pictures and targets are blended; 0 is never"] = 0.0
    cutmix: Annotated[Spread, "α of the share that a box of another picture covers; 0 is never"] = 0.0
    edge: Annotated[Edge, "what lies beyond the edges of a picture"] = "black"

    @property
    def resamples(self) -> bool:
        """Whether pixels come to lie between those that there are."""
        return self.crop < 1 or any((self.rotate, self.stretch, self.shear, self.lens))

    @property
    def colours(self) -> bool:
        return any((self.brightness, self.contrast, self.saturation))

    @property
    def mixes(self) -> bool:
        return bool(self.mixup or self.cutmix)

    def check(self, spec: Spec) -> None:
        """Refuse what is not for such examples, or leaves nothing of them."""
        if not isinstance(spec, Picture):
            raise GradlabError(f"data.augment is for pictures, but the examples are {spec}. Leave it out.")
        least = min(spec.height, spec.width)
        for name, pixels in (("translate", self.translate), ("cutout", self.cutout)):
            if pixels >= least:
                raise GradlabError(
                    f"data.augment.{name}={pixels} can leave nothing of a picture of {spec.height}×{spec.width} "
                    f"pixels. Take at most {least - 1}."
                )
        if self.saturation and spec.channels != 3:
            raise GradlabError(
                f"data.augment.saturation is for pictures in red, green and blue, but these have {spec.channels} "
                f"channel{'s' * (spec.channels > 1)}. Leave it out."
            )
