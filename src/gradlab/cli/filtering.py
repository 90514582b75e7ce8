"""`gradlab filter`."""

from __future__ import annotations

from pathlib import Path

from gradlab.cli.output import console, print_json, say
from gradlab.cli.training import Json, Plain
from gradlab.errors import GradlabError


def filter_(image: str, /, *, kernel: str, out: str, plain: Plain = False, as_json: Json = False) -> None:
    """Apply a kernel to a picture: blur it, sharpen it, or find its edges.

    Examples to copy:

    - `gradlab filter photo.jpg --kernel gaussian --out soft.png`
    - `gradlab filter photo.jpg --kernel sobel-x --out edges.png`: vertical edges
    - `gradlab filter photo.jpg --kernel "[[0, 1, 0], [1, -4, 1], [0, 1, 0]]" --out laplace.png`

    Each channel is filtered by itself, in 8 bits, and the kernel is not flipped. At the border the picture is mirrored
    about its outermost pixels (c b | a b c), as OpenCV does by default. Of a kernel that sums to 0, absolute values are
    shown; what is still below black or beyond white becomes black or white.

    Parameters
    ----------
    image
        A grey or colour picture: PNG, JPEG and others. It is turned upright, and put on white where it is transparent.
    kernel
        gaussian and mean (5×5), sharpen, sobel-x and sobel-y (3×3), or rows of numbers: "[[…], …]", an odd number of
        rows and of columns.
    out
        The file to write; its ending is its format, such as .png. What is there is replaced.
    """
    from gradlab.data.pictures.filtering import check_name, filter_picture, read_kernel

    chosen, source, target = read_kernel(kernel), Path(image), Path(out)
    check_name(target)
    if target.exists() and source.exists() and target.samefile(source):
        raise GradlabError("--out is the picture itself, which would be lost. Name another file.")
    result = filter_picture(source, chosen)
    result.save(target)
    channels, height, width = result.pixels.shape
    if as_json:
        weights = (chosen.kernel.double() / chosen.divisor).tolist()
        size = {"height": height, "width": width, "channels": channels}
        shown = {"absolute": result.absolute, "clipped": result.clipped}
        print_json({"image": image, **size, "kernel": weights, **shown, "out": out})
        return
    screen = console(plain)
    say(screen, "picture", f"{image}: {width:,}×{height:,} pixels, {'grey' if channels == 1 else 'colour'}")
    say(screen, "kernel", f"{'×'.join(map(str, chosen.kernel.shape))}: {kernel}")
    values = "absolute values, since the kernel sums to 0" if result.absolute else "values as they are"
    say(screen, "shown", f"{values}; {result.clipped:.1%} were below black or beyond white, and are clipped")
    say(screen, "written", out)
