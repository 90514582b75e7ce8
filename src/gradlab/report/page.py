"""The HTML shell: one file that fetches nothing, and in which no script but its own two may run."""

import base64
import hashlib
from importlib.util import find_spec
from pathlib import Path

from gradlab.markup import Html, tag


def page(title: str, body: Html, *, charts: bool = True, style: str = "", refresh: str = "") -> Html:
    """The whole document around a body, which may add to the style; without charts it needs no script.

    `refresh` has the seconds after which a browser loads it again, or another page in its place.
    """
    scripts = [_plotly(), _beside("page.js")] if charts else []
    allowed = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts) or "'none'"
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Html(f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · gradlab"),
        tag("style", Html(_beside("style.css") + style)),
    )
    # The scripts come last, so that the text is there before the megabytes of plotly.js are read.
    content = tag("body", tag("main", body), *(tag("script", Html(script)) for script in scripts))
    return Html(f"<!doctype html>\n{tag('html', head, content, lang='en')}\n")


def _plotly() -> str:
    """plotly.js as the plotly package ships it; the package itself is slow to import, and is not needed."""
    spec = find_spec("plotly")
    assert spec is not None, "plotly is a dependency of gradlab"
    return Path(str(spec.origin)).with_name("package_data").joinpath("plotly.min.js").read_text("utf-8")


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
