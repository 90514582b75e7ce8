"""Picture files of any size and mode, as arrays of one shape."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.memory import check_memory
from gradlab.data.reading import Reading, refuse_columns
from gradlab.errors import GradlabError, notice, one_line
from gradlab.printable import printable
from gradlab.registry import Count
from gradlab.wording import counted

if TYPE_CHECKING:
    from PIL import Image

Pixels = npt.NDArray[np.uint8]
Resize = Literal["crop", "pad", "stretch"]

SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"))
_PIXEL = 16  # bytes that a pixel takes, with the copies that are made of it on the way
_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F")
_DEEP = ("I", "I;16", "I;16B", "I;16L", "F")
_FITTED: dict[Resize, str] = {"crop": "cut to the middle", "pad": "put on white", "stretch": "stretched"}
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)  # the EXIF tag, and its values that swap width and height


def is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def files_below(folder: Path) -> list[Path]:
    """All files in a folder and in its folders, in order; a name that begins with a dot hides what is there."""
    below = sorted(p for p in folder.rglob("*") if p.is_file())
    return [p for p in below if not any(part.startswith(".") for part in p.relative_to(folder).parts)]


def look(path: Path) -> tuple[tuple[int, int], bool]:
    """Height and width as a viewer shows it, and whether it is grey; the pixels are not read."""
    with opened(path) as image:
        width, height = image.size
        # Pillow gives the size of a TIFF as it is shown, and reads all of a PNG to say whether it is turned.
        plain = image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info)
        turned = not plain and image.getexif().get(_ORIENTATION) in _TURNED
        return ((width, height) if turned else (height, width)), image.mode in _GREY


def look_through(path: Path) -> None:
    """Refuse a picture that is damaged anywhere."""
    with opened(path) as image:
        image.load()


@dataclass(frozen=True, kw_only=True)
class PictureReader:
    """Every picture turned upright, put on white where it is transparent, and brought to one size and mode."""

    height: Count
    width: Count
    channels: Literal[1, 3]
    resize: Resize

    kind = "pictures"
    target = None

    def describe(self) -> dict[str, Any]:
        """As data.json holds it."""
        return {"kind": self.kind, **asdict(self)}

    def load(self, path: Path) -> Pixels:
        """One picture: (channels, height, width), bytes."""
        from PIL import ImageOps

        with opened(path) as image:
            upright = _flat(ImageOps.exif_transpose(image)).convert("L" if self.channels == 1 else "RGB")
            pixels = np.asarray(self._resized(upright))
        return pixels[None] if self.channels == 1 else np.moveaxis(pixels, -1, 0)

    def changes(self, path: Path) -> str:
        """What becomes of a picture on the way, in a sentence; nothing where it is taken as it is."""
        (height, width), grey = look(path)
        with opened(path) as image:
            done = {
                "its first frame taken": getattr(image, "n_frames", 1) > 1,
                "turned upright": image.getexif().get(_ORIENTATION, 1) != 1,
                "put on white where it is transparent": _is_transparent(image),
                "brought to 8 bits": image.mode in _DEEP,
                "made grey": self.channels == 1 and not grey,
                "given three channels": self.channels == 3 and grey,
                _FITTED[self.resize]: height * self.width != width * self.height,
                f"resized from {height}×{width} to {self.height}×{self.width} pixels": (height, width) != self._size,
            }
        words = [what for what, was in done.items() if was]
        return f"{printable(path.name)} was read with changes: {', '.join(words)}." if words else ""

    @property
    def _size(self) -> tuple[int, int]:
        return self.height, self.width

    def _resized(self, image: "Image.Image") -> "Image.Image":
        from PIL import Image, ImageOps

        size, method = (self.width, self.height), Image.Resampling.BILINEAR
        if image.size == size:
            return image
        if self.resize == "crop":
            return ImageOps.fit(image, size, method)
        if self.resize == "pad":
            return ImageOps.pad(image, size, method, color="white")
        return image.resize(size, method)

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        """From a picture, or from all pictures below a folder."""
        refuse_columns(source, beside)
        path = Path(source)
        if path.is_dir():
            files = files_below(path)
            pictures = [p for p in files if is_picture(p)]
            if not pictures:
                raise GradlabError(f"{source} has no picture in it (PNG, JPEG, …).")
            if len(pictures) < len(files):
                stray = next(p for p in files if not is_picture(p))
                others = counted(len(files) - len(pictures), "file")
                notice(f"Passed over {others} in {source} that no picture is in, such as {stray.relative_to(path)}.")
            size = 2 * len(pictures) * self.channels * self.height * self.width
            check_memory(size, f"{counted(len(pictures), 'picture')} of {source}", "Give fewer at a time.")
            names = [printable(p.relative_to(path)) for p in pictures]
            return Reading(np.stack([self.load(p) for p in pictures]), names)
        if path.is_file():
            try:
                changes = self.changes(path)
                return Reading(self.load(path)[None], [printable(path.name)], notes=[changes] if changes else [])
            except DamagedPicture:
                if is_picture(path):
                    raise
                raise GradlabError(f"{source} is no picture, but this run was trained on pictures.") from None
        raise GradlabError(f"{source} is neither a picture nor a folder of pictures.")


def _flat(image: "Image.Image") -> "Image.Image":
    """Eight bits a channel, nothing transparent."""
    from PIL import Image

    if image.mode in _DEEP and image.mode != "F":
        return Image.fromarray((np.asarray(image).clip(0, 65_535) / 257).round().astype(np.uint8))
    if image.mode == "F":
        return Image.fromarray(np.asarray(image).clip(0, 255).round().astype(np.uint8))
    if _is_transparent(image):
        layers = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers)
    return image


def _is_transparent(image: "Image.Image") -> bool:
    return image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info


@contextmanager
def opened(path: Path) -> Iterator["Image.Image"]:
    """An open picture, if its pixels fit into memory; errors meanwhile have the file's name."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # memory is what counts here
            image = Image.open(path)
        with image:
            width, height = image.size
            check_memory(
                _PIXEL * width * height, f"{printable(path)}, {width:,}×{height:,} pixels,", "Make it smaller."
            )
            yield image
    except GradlabError:
        raise
    except Exception as error:  # decoders fail in a dozen ways: truncated data, broken chunks, values out of range
        why = one_line(error)
        if isinstance(error, UnidentifiedImageError):
            why = "it is in no format of pictures that is known" if path.stat().st_size else "the file is empty"
        raise DamagedPicture(
            f"{printable(path)} cannot be read as a picture: {why}. Mend it or take it away."
        ) from None


class DamagedPicture(GradlabError):
    """A file that has the name of a picture, but is none."""
