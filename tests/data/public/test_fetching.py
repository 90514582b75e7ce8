"""Downloads from a server on this machine that behaves, or does not."""

import contextlib
import fcntl
import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gradlab.data import sources
from gradlab.data.public import fetching
from gradlab.data.public.fetching import DOWNLOADS, Download, Fetched, fetch, in_cache
from gradlab.errors import GradlabError


class Site:
    """What a server has and how it treats its visitors; and what it was asked for."""

    def __init__(self, address):
        self.address = address
        self.files = {}
        self.knows_ranges = True
        self.cuts = []  # after how many bytes the next connections are cut
        self.shift = 0  # how far beside the range asked for the answer begins
        self.asleep = False
        self.asked = []

    @property
    def ranges(self):
        return [asked for _, asked in self.asked]


class Visit(BaseHTTPRequestHandler):
    def do_GET(self):
        site, asked = self.server.site, self.headers.get("Range")
        site.asked.append((self.path, asked))
        if site.asleep:
            self.server.closing.wait(10)
            return
        content = site.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and site.knows_ranges else 0
        if start > len(content) or (asked and start == len(content)):
            self.send_error(416)
            return
        start = max(0, start - site.shift)
        self.send_response(206 if asked and site.knows_ranges else 200)
        if asked and site.knows_ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        until = site.cuts.pop(0) if site.cuts else len(content)
        with contextlib.suppress(ConnectionError):  # the visitor may have seen enough
            self.wfile.write(content[start : start + until])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve():
    """`serve()`: another site on this machine."""
    servers = []

    def start():
        server = ThreadingHTTPServer(("127.0.0.1", 0), Visit)
        server.site = Site(f"http://127.0.0.1:{server.server_port}/")
        server.closing = threading.Event()
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        servers.append(server)
        return server.site

    yield start
    for server in servers:
        server.closing.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(serve):
    return serve()


@pytest.fixture
def content(rng):
    return rng.bytes(300_000)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own; and no proxy between us and this machine."""
    monkeypatch.setenv("GRADLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache"


@pytest.fixture
def folder(cache):
    return cache / "datasets" / "toy"


@pytest.fixture
def offer(monkeypatch):
    """`offer(content, *sites)`: the data set `toy` of one file, to be had at these sites in this order."""

    def enter(content, *sites, name="toy.gz"):
        digest = hashlib.sha256(content).hexdigest()
        addresses = tuple((site if isinstance(site, str) else site.address) + name for site in sites)
        monkeypatch.setitem(DOWNLOADS, "toy", (Download(name, len(content), digest, addresses),))
        for site in sites:
            if not isinstance(site, str):
                site.files.setdefault(f"/{name}", content)

    return enter


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def unused_address():
    """An address of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/"


def test_a_file_is_fetched_whole_and_progress_is_told(site, offer, content, folder):
    offer(content, site)
    told = []
    files = fetch("toy", progress=lambda *news: told.append(news))
    assert files == [Fetched(folder / "toy.gz", len(content), fresh=True)]
    assert (folder / "toy.gz").read_bytes() == content
    assert names(folder) == ["toy.gz"]
    assert told[-1] == ("toy.gz", len(content), len(content))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_every_file_of_a_data_set_is_fetched_to_the_folder_that_is_named(site, monkeypatch, tmp_path):
    files = {f"{name}.gz": name.encode() * 1000 for name in "abc"}
    site.files = {f"/{name}": data for name, data in files.items()}
    table = [Download(n, len(d), hashlib.sha256(d).hexdigest(), (site.address + n,)) for n, d in files.items()]
    monkeypatch.setitem(DOWNLOADS, "toy", tuple(table))
    fetch("toy", tmp_path / "here")
    assert {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()} == files
    assert in_cache("toy") is None
    assert len(fetch("toy")) == 3
    assert in_cache("toy") == tmp_path / "cache" / "datasets" / "toy"
    (in_cache("toy") / "b.gz").write_bytes(b"short")
    assert in_cache("toy") is None


def test_a_sound_file_is_not_fetched_again(site, offer, content, folder):
    offer(content, site)
    fetch("toy")
    assert fetch("toy") == [Fetched(folder / "toy.gz", len(content), fresh=False)]
    assert len(site.asked) == 1


def test_a_connection_that_is_cut_is_taken_up_where_it_broke(site, offer, content, folder):
    offer(content, site)
    site.cuts = [100_000, 70_000]
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert site.ranges == [None, "bytes=100000-", "bytes=170000-"]


def test_what_an_earlier_command_had_received_is_not_asked_for_again(site, offer, content, folder):
    offer(content, site)
    folder.mkdir(parents=True)
    (folder / "toy.gz.part").write_bytes(content[:123_456])
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert site.ranges == ["bytes=123456-"]
    assert names(folder) == ["toy.gz"]


def test_a_part_that_lacks_nothing_needs_no_connection(site, offer, content, folder):
    offer(content, site)
    folder.mkdir(parents=True)
    (folder / "toy.gz.part").write_bytes(content)
    assert fetch("toy")[0].fresh
    assert site.asked == []


@pytest.mark.parametrize("fault", ["knows no ranges", "answers beside the range"])
def test_a_server_that_does_not_resume_is_read_from_the_beginning(site, offer, content, folder, fault):
    offer(content, site)
    site.knows_ranges = fault != "knows no ranges"
    folder.mkdir(parents=True)
    (folder / "toy.gz.part").write_bytes(content[:50_000])
    site.shift = 50_000  # where it answers a range at all, it is that of the whole
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert site.ranges == ["bytes=50000-"]


def test_a_server_that_is_always_cut_at_the_same_place_is_left_for_the_next(serve, offer, content, folder):
    bad, good = serve(), serve()
    offer(content, bad, good)
    bad.knows_ranges, bad.cuts = False, [1000] * 50
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert len(bad.asked) == 2
    assert good.ranges == ["bytes=1000-"]


def test_another_file_than_the_published_one_is_deleted_and_both_checksums_are_told(site, offer, content, folder):
    offer(content, site)
    site.files["/toy.gz"] = other = bytes(len(content))
    with pytest.raises(GradlabError) as caught:
        fetch("toy")
    assert caught.value.exit_code == 2
    for words in (hashlib.sha256(content).hexdigest(), hashlib.sha256(other).hexdigest(), site.address, "deleted"):
        assert words in str(caught.value)
    assert names(folder) == []


def test_a_page_in_place_of_the_file_is_told_by_its_size(site, offer, content):
    offer(content, site)
    site.files["/toy.gz"] = b"<html>Please log in to the network</html>"
    with pytest.raises(GradlabError, match=r"it gave 41 bytes with SHA-256 \w{64}, expected 300,000 with \w{64}"):
        fetch("toy")


def test_a_file_without_end_is_not_read_to_its_end(site, offer, content, folder):
    offer(content, site)
    site.files["/toy.gz"] = bytes(50 * len(content))
    told = []
    with pytest.raises(GradlabError, match="SHA-256"):
        fetch("toy", progress=lambda *news: told.append(news))
    assert told[-1][1] < 2 * len(content)
    assert names(folder) == []


@pytest.mark.parametrize("fault", ["wrong", "missing", "silent", "closed"])
def test_the_next_address_is_tried_when_one_fails(serve, offer, content, folder, monkeypatch, fault):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    bad, good = serve(), serve()
    offer(content, unused_address() if fault == "closed" else bad, good)
    if fault == "wrong":
        bad.files["/toy.gz"] = content[::-1]
    if fault == "missing":
        bad.files = {}
    if fault == "silent":
        bad.asleep = True
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content


def test_a_part_that_was_damaged_on_disk_is_fetched_anew_from_the_next_address(serve, offer, content, folder):
    first, second = serve(), serve()
    offer(content, first, second)
    folder.mkdir(parents=True)
    (folder / "toy.gz.part").write_bytes(bytes(100_000))
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert (first.ranges, second.ranges) == (["bytes=100000-"], [None])


def test_a_part_that_is_too_long_is_dropped(site, offer, content, folder):
    offer(content, site)
    folder.mkdir(parents=True)
    (folder / "toy.gz.part").write_bytes(content + b"more")
    fetch("toy")
    assert (folder / "toy.gz").read_bytes() == content
    assert site.ranges == [None]


def test_when_no_address_answers_all_are_named_and_what_to_do(site, serve, offer, content, folder, monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    closed, silent, away = unused_address(), serve(), "http://nowhere.invalid/"
    offer(content, site, closed, silent, away)
    site.files = {}
    silent.asleep = True
    with pytest.raises(GradlabError) as caught:
        fetch("toy")
    message = str(caught.value)
    assert caught.value.exit_code == 2
    for address in (site.address, closed, silent.address, away):
        assert f"{address}toy.gz (" in message
    for reason in ("HTTP 404", "refused", "no answer for 0.2 s"):
        assert reason in message
    assert f"put toy.gz into {folder} by hand" in message
    assert "\n" not in message


def test_what_was_received_before_all_failed_is_kept_for_the_next_time(site, offer, content, folder):
    offer(content, site)
    site.knows_ranges, site.cuts = False, [90_000] * 9
    with pytest.raises(GradlabError, match="the connection was cut after 90,000 of 300,000 bytes"):
        fetch("toy")
    assert names(folder) == ["toy.gz.part"]
    site.knows_ranges, site.cuts = True, []
    fetch("toy")
    assert site.ranges[-1] == "bytes=90000-"


def test_a_damaged_file_in_the_cache_is_replaced_but_one_elsewhere_may_be_the_user_s(site, offer, content, tmp_path):
    offer(content, site)
    (damaged := fetch("toy")[0].path).write_bytes(b"damaged")
    assert fetch("toy")[0].fresh
    assert damaged.read_bytes() == content
    mine = tmp_path / "mine" / "toy.gz"
    mine.parent.mkdir()
    mine.write_bytes(b"my own")
    with pytest.raises(GradlabError, match=r"mine/toy\.gz is there already, and is not the file to fetch"):
        fetch("toy", mine.parent)
    assert mine.read_bytes() == b"my own"


def test_two_processes_do_not_write_to_the_same_part(site, offer, content, folder):
    offer(content, site)
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(GradlabError, match="Another process is fetching into"):
            fetch("toy")
    assert site.asked == []
    fetch("toy")


def test_a_folder_that_cannot_be_written_is_named(site, offer, content, tmp_path):
    offer(content, site)
    (tmp_path / "file").touch()
    with pytest.raises(GradlabError, match=r"file/below cannot be written: .*--to FOLDER, or set GRADLAB_CACHE"):
        fetch("toy", tmp_path / "file" / "below")


def test_a_name_that_cannot_be_fetched_is_answered_with_the_closest():
    with pytest.raises(GradlabError, match="Did you mean 'mnist'"):
        fetch("mnits")


@pytest.mark.parametrize("name", sorted(DOWNLOADS))
def test_the_table_is_of_sources_and_well_formed(name):
    assert name in sources
    for file in DOWNLOADS[name]:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert len(file.addresses) >= 2
        for address in file.addresses:
            assert address.startswith(("https://", "http://"))
            assert address.endswith(f"/{file.name}")
