import numpy as np
import pytest
from PIL import Image

from gradlab.data import reader_of
from gradlab.data.pictures.reader import PictureReader, files_below, is_picture, look
from gradlab.errors import GradlabError

RED, GREEN, WHITE = (255, 0, 0), (0, 255, 0), (255, 255, 255)


def reader(height=4, width=4, channels=3, resize="crop"):
    return PictureReader(height=height, width=width, channels=channels, resize=resize)


def noise(rng, *shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def mode(path):
    with Image.open(path) as image:
        return image.mode


def colours(pixels):
    """Channels last, as people write colours."""
    return np.moveaxis(pixels, 0, -1)


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.webp"])
def test_a_coloured_picture_keeps_its_pixels(tmp_path, rng, name):
    pixels = noise(rng, 4, 4, 3)
    Image.fromarray(pixels).save(tmp_path / name, lossless=True)
    assert np.array_equal(colours(reader().load(tmp_path / name)), pixels)
    assert look(tmp_path / name) == ((4, 4), False)


def test_a_grey_picture_keeps_its_pixels_in_one_channel_or_three(tmp_path, rng):
    pixels = noise(rng, 4, 4)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert np.array_equal(reader(channels=1).load(tmp_path / "a.png"), pixels[None])
    assert np.array_equal(reader().load(tmp_path / "a.png"), np.stack([pixels] * 3))
    assert look(tmp_path / "a.png") == ((4, 4), True)


def test_a_coloured_picture_becomes_grey_by_its_brightness(tmp_path):
    Image.new("RGB", (4, 4), (200, 100, 50)).save(tmp_path / "a.png")
    brightness = 0.299 * 200 + 0.587 * 100 + 0.114 * 50
    assert np.unique(reader(channels=1).load(tmp_path / "a.png")).tolist() == [pytest.approx(brightness, abs=1)]


def test_a_picture_of_one_bit_is_black_and_white(tmp_path):
    bits = np.eye(4, dtype=bool)
    Image.fromarray(bits).save(tmp_path / "a.png")
    assert mode(tmp_path / "a.png") == "1"
    assert np.array_equal(reader(channels=1).load(tmp_path / "a.png")[0], bits * 255)
    assert look(tmp_path / "a.png")[1]


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_sixteen_bits_of_grey_are_brought_to_eight(tmp_path, name):
    levels = np.array([[0, 257], [32_896, 65_535]], np.uint16)
    Image.fromarray(levels).save(tmp_path / name)
    assert reader(2, 2, 1).load(tmp_path / name).tolist() == [[[0, 1], [128, 255]]]
    assert look(tmp_path / name)[1]


@pytest.mark.parametrize(
    ("alpha", "shown"),
    [(255, [200, 0, 0]), (0, [255, 255, 255]), (128, [227, 127, 127])],
    ids=["solid", "clear", "half"],
)
def test_what_is_transparent_is_put_on_white(tmp_path, alpha, shown):
    Image.new("RGBA", (4, 4), (200, 0, 0, alpha)).save(tmp_path / "a.png")
    pixels = colours(reader().load(tmp_path / "a.png"))
    assert np.abs(pixels.astype(int) - shown).max() <= 1


def test_grey_with_transparency_is_grey_and_put_on_white(tmp_path):
    image = Image.new("LA", (4, 4), (100, 255))
    image.putpixel((0, 0), (100, 0))
    image.save(tmp_path / "a.png")
    want = np.full((4, 4), 100)
    want[0, 0] = 255
    assert np.array_equal(reader(channels=1).load(tmp_path / "a.png")[0], want)
    assert look(tmp_path / "a.png") == ((4, 4), True)


@pytest.mark.parametrize("transparency", [None, 1, bytes([255, 0])])
def test_a_palette_gives_the_colours_it_stands_for(tmp_path, transparency):
    image = Image.new("P", (2, 2))
    image.putpalette([*RED, *GREEN])
    image.putdata([0, 1, 1, 0])
    options = {} if transparency is None else {"transparency": transparency}
    image.save(tmp_path / "a.png", **options)
    assert mode(tmp_path / "a.png") == "P"
    other = GREEN if transparency is None else WHITE
    assert colours(reader(2, 2).load(tmp_path / "a.png")).tolist() == [[[*RED], [*other]], [[*other], [*RED]]]


def test_a_transparent_colour_of_a_plain_picture_is_white(tmp_path):
    Image.new("RGB", (4, 4), RED).save(tmp_path / "a.png", transparency=RED)
    assert (reader().load(tmp_path / "a.png") == 255).all()


def test_the_four_inks_of_a_printed_picture_are_colours(tmp_path):
    Image.new("CMYK", (4, 4), (0, 255, 255, 0)).save(tmp_path / "a.jpg", quality=100)
    pixels = colours(reader().load(tmp_path / "a.jpg"))
    assert np.abs(pixels.astype(int) - RED).max() <= 6
    assert reader(channels=1).load(tmp_path / "a.jpg").shape == (1, 4, 4)


def test_the_first_picture_of_an_animation_counts(tmp_path):
    frames = [Image.new("RGB", (4, 4), colour) for colour in (RED, GREEN)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert colours(reader().load(tmp_path / "a.gif"))[0, 0].tolist() == [*RED]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
def test_a_turned_picture_is_seen_as_a_viewer_shows_it(tmp_path, rng, name, orientation):
    pixels = np.kron(noise(rng, 2, 3), np.ones((16, 16), np.uint8))  # blocks, which survive JPEG
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"a.jpg": {"quality": 100}, "a.tif": {"compression": "tiff_lzw"}}.get(name, {})
    Image.fromarray(pixels).save(tmp_path / name, exif=exif, **options)
    turned = {
        1: pixels, 2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1],
        5: pixels.T, 6: np.rot90(pixels, -1), 7: pixels[::-1, ::-1].T, 8: np.rot90(pixels),
    }[orientation]  # fmt: skip
    shape, is_grey = look(tmp_path / name)
    assert (shape, is_grey) == (turned.shape, True)
    got = reader(*shape, channels=1).load(tmp_path / name)[0]
    assert np.abs(got.astype(int) - turned).max() <= 3


def stripes():
    """Four times as wide as high: red, green, green, red."""
    return np.repeat(np.array([[RED, GREEN, GREEN, RED]], np.uint8), 8, axis=0).repeat(8, axis=1)


def test_other_shapes_are_cut_to_the_middle_put_on_white_or_stretched(tmp_path):
    Image.fromarray(stripes()).save(tmp_path / "a.png")
    assert look(tmp_path / "a.png")[0] == (8, 32)
    cropped, padded, stretched = (
        colours(reader(8, 8, resize=how).load(tmp_path / "a.png")) for how in ("crop", "pad", "stretch")
    )
    assert (cropped == GREEN).all()
    assert (padded[:3] == WHITE).all()
    assert (padded[5:] == WHITE).all()
    assert padded[4, [0, 7]].tolist() == [[*RED], [*RED]]
    assert stretched[:, [0, 7]].tolist() == [[[*RED], [*RED]]] * 8
    assert (stretched[:, [3, 4]] == GREEN).all()


@pytest.mark.parametrize("how", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("size", [(1, 1), (3, 50), (50, 3), (8, 8), (200, 100)])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_size_becomes_the_one_size(tmp_path, rng, how, size, channels):
    Image.fromarray(noise(rng, *size, 3)).save(tmp_path / "a.png")
    pixels = reader(8, 6, channels, how).load(tmp_path / "a.png")
    assert pixels.shape == (channels, 8, 6)
    assert pixels.dtype == np.uint8


def test_looking_at_a_png_does_not_read_its_pixels(tmp_path, rng, monkeypatch):
    Image.fromarray(noise(rng, 9, 5)).save(tmp_path / "a.png")

    def read(*arguments):
        raise AssertionError("the pixels were read")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", read)
    assert look(tmp_path / "a.png") == ((9, 5), True)


@pytest.mark.parametrize(
    ("name", "there"),
    [("a.png", True), ("a.JPG", True), ("a.jpeg", True), (".a.png", False), ("a.txt", False), ("png", False)],
)
def test_pictures_are_known_by_their_names(tmp_path, name, there):
    assert is_picture(tmp_path / name) == there


def test_hidden_files_and_folders_are_not_seen(tmp_path):
    for name in ("b/a.png", "a.png", ".a.png", ".hidden/a.png", "b/.ipynb_checkpoints/a.png", "b/c/d.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [str(p.relative_to(tmp_path)) for p in files_below(tmp_path)] == ["a.png", "b/a.png", "b/c/d.png"]


def test_a_folder_within_a_hidden_one_is_seen(tmp_path):
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.png").touch()
    assert len(files_below(tmp_path / ".cache")) == 1


def test_a_file_and_a_folder_of_files_are_read_with_their_names(tmp_path, rng, capsys):
    (tmp_path / "new" / "more").mkdir(parents=True)
    for name in ("b.png", "more/a.png"):
        Image.fromarray(noise(rng, 4, 4, 3)).save(tmp_path / "new" / name)
    (tmp_path / "new" / "notes.txt").write_text("stray")
    whole = reader().read(str(tmp_path / "new"))
    assert whole.names == ["b.png", "more/a.png"]
    one = reader().read(str(tmp_path / "new" / "more" / "a.png"))
    assert one.names == ["a.png"]
    assert np.array_equal(one.values[0], whole.values[1])
    assert "Passed over 1 file in" in capsys.readouterr().err


def truncated(path):
    Image.fromarray(noise(np.random.default_rng(0), 40, 40, 3)).save(path)
    path.write_bytes(path.read_bytes()[:-900])


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("cut.png", truncated, "cut.png cannot be read as a picture"),
        ("cut.jpg", truncated, "cut.jpg cannot be read as a picture"),
        (
            "text.png",
            lambda path: path.write_text("hello"),
            "text.png cannot be read as a picture: it is in no format of pictures that is known. Mend it",
        ),
        ("empty.png", lambda path: path.touch(), "empty.png cannot be read as a picture: the file is empty. Mend it"),
        ("rows.csv", lambda path: path.write_text("a,b\n1,2\n"), "rows.csv is no picture, but this run was trained on"),
        ("folder", lambda path: path.mkdir(), "folder has no picture in it"),
        ("nowhere.png", lambda path: None, "nowhere.png is neither a picture nor a folder of pictures"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path, name, write, says):
    write(tmp_path / name)
    with pytest.raises(GradlabError) as caught:
        reader().read(str(tmp_path / name))
    assert says in str(caught.value)


def test_a_picture_without_the_ending_of_one_is_read(tmp_path, rng):
    Image.fromarray(noise(rng, 4, 4)).save(tmp_path / "scan", "PNG")
    assert reader().read(str(tmp_path / "scan")).names == ["scan"]


def test_the_reader_survives_what_a_run_keeps_of_it():
    assert reader_of(reader(resize="pad").describe(), ()) == reader(resize="pad")


def test_a_picture_that_unpacks_to_more_than_there_is_memory_is_refused_before_that(tmp_path, monkeypatch):
    Image.new("L", (3000, 2000)).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size < 20_000
    monkeypatch.setattr("gradlab.data.memory.memory", lambda: 10**7)
    with pytest.raises(GradlabError, match=r"a\.png, 3,000×2,000 pixels, would take 0\.1 GB of memory"):
        reader().load(tmp_path / "a.png")
