"""Markdown becomes HTML that is well-formed, harmless and below the page's one h1."""

import re
import time
from html.parser import HTMLParser

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from materials.catalog.rendering import render


@pytest.mark.parametrize(
    ("markdown", "tags"),
    [
        ("# a\n\nb\n===\n\n## c", ["h2", "h2", "h3"]),
        ("### a\n\n#### b\n\n### c", ["h2", "h3", "h2"]),
        ("### a\n\n# b", ["h2", "h2"]),
        ("# a\n\n###### b\n\n### c", ["h2", "h3", "h4"]),
        ("".join(f"{'#' * n} a\n\n" for n in range(1, 7)), ["h2", "h3", "h4", "h5", "h6", "h6"]),
    ],
)
def test_headings_begin_below_the_title_and_skip_no_level(markdown: str, tags: list[str]) -> None:
    found = parse(render(markdown))

    assert [tag for tag in found.tags if tag.startswith("h")] == tags


@pytest.mark.parametrize("piece", ["[", "![", "a\n\n", "- a\n", "|a|b\n|-|-\n"])
def test_a_text_with_hopelessly_much_mark_up_is_shown_as_it_is_written(piece: str) -> None:
    markdown = (piece * 200_000)[:200_000]
    began = time.thread_time()

    found = parse(render(markdown))

    assert time.thread_time() - began < 5
    assert found.tags == ["p", "div"]
    assert markdown in found.text


def test_a_long_text_of_ordinary_prose_is_laid_out() -> None:
    paragraph = "Some *words* and [a link](/x), `code` and more of them.\n" * 8
    markdown = (f"## Heading\n\n{paragraph}\n- one\n- two\n\n" * 420)[:199_000]

    assert len(markdown) > 190_000
    assert parse(render(markdown)).tags.count("h2") > 300


def test_a_table_scrolls_in_its_own_box_and_aligns_by_class() -> None:
    html = render("| a | b |\n|:-:|--:|\n| 1 | 2 |")

    assert html.startswith('<div class="table-scroll" tabindex="0"><table>')
    assert '<th class="align-center">a</th>' in html
    assert '<td class="align-right">2</td>' in html
    assert "style" not in html


def test_code_is_shown_as_it_is_and_names_its_language() -> None:
    html = render('```python title="x"\nprint("<b>")\n```\n\n    indented & plain\n')

    assert html == (
        '<pre tabindex="0"><code class="language-python">print("&lt;b&gt;")\n</code></pre>\n'
        '<pre tabindex="0"><code>indented &amp; plain\n</code></pre>\n'
    )


def test_footnotes_lead_there_and_back() -> None:
    html = render("A[^1] and B[^1].\n\n[^1]: Note.")

    assert '<a href="#fn1" id="fnref1">[1]</a>' in html
    assert '<li id="fn1" class="footnote-item"><p>Note.' in html
    assert '<a href="#fnref1" class="footnote-backref" aria-label="Back to the text">↩</a>' in html
    assert 'href="#fnref1:1"' in html


def test_the_words_of_the_page_follow_the_readers_language() -> None:
    with translation.override("ru"):
        in_russian = render("![](https://example.org/a.png)")
    with translation.override("en"):
        in_english = render("![](https://example.org/a.png)")

    assert ">Image</a>" in in_english
    assert 'href="https://example.org/a.png"' in in_russian


@pytest.mark.parametrize(
    "url", ["https://example.org/a", "http://example.org", "HTTPS://EXAMPLE.ORG", "//example.org/a"]
)
def test_a_link_that_leaves_the_site_says_so(url: str) -> None:
    html = render(f"[words]({url})")

    assert 'rel="external noopener noreferrer"' in html


@pytest.mark.parametrize("url", ["/materials/article-2/", "#fn1", "mailto:ada@example.org"])
def test_other_links_stay_plain(url: str) -> None:
    html = render(f"[words]({url})")

    assert html == f'<p><a href="{url}">words</a></p>\n'


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#115;cript:alert(1)",
        "javascript&colon;alert(1)",
        "&#1;javascript:alert(1)",
        "vbscript:x",
        "data:text/html,<script>alert(1)</script>",
        "data:image/png;base64,AAAA",
        "file:///etc/passwd",
        "ftp://example.org",
    ],
)
def test_no_link_leads_to_anything_but_http_mail_and_the_site(url: str) -> None:
    for markdown in (f"[words]({url})", f"<{url}>", f"![words]({url})", f"[w]\n\n[w]: {url}"):
        for name, value in attributes(render(markdown)):
            if name in ("href", "src"):
                # A browser drops blanks and control characters before it looks for a scheme.
                seen = re.sub(r"^[\x00-\x20]+|[\t\n\r]", "", value)
                assert not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", seen)


def test_an_image_of_this_site_is_shown_and_one_of_another_host_is_a_link() -> None:
    html = render("![Plan *A*](/static/a.png) ![Plan B](https://example.org/b.png)")

    assert '<img src="/static/a.png" alt="Plan A" loading="lazy">' in html
    assert (
        '<a href="https://example.org/b.png" rel="external noopener noreferrer">Plan B</a>' in html
    )
    assert html.count("<img") == 1


def test_an_image_of_another_host_inside_a_link_is_its_words() -> None:
    html = render("[![Plan](https://example.org/b.png)](/materials/a/)")

    assert html == '<p><a href="/materials/a/">Plan</a></p>\n'


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "</div></main><h1>Mine</h1>",
        "a <b onclick=x>bold</b>",
        "<!-- comment -->",
        "<style>*{display:none}</style>",
        "<iframe src='//example.org'></iframe>",
        "<form action=//example.org><input name=password></form>",
    ],
)
def test_raw_html_is_shown_as_it_is_written(written: str) -> None:
    found = parse(render(written))

    assert found.text.strip() == written
    assert found.tags == ["p"]


@pytest.mark.parametrize(
    "written",
    [
        "[a](https://example.org 'x\" onmouseover=\"alert(1)')",
        '![a"onerror="alert(1)](/a.png)',
        '```"><script>alert(1)</script>\nx\n```',
        '<a href="&quot;><script>alert(1)</script>">',
    ],
)
def test_nothing_breaks_out_of_an_attribute(written: str) -> None:
    found = parse(render(written))

    assert set(found.tags) <= {"p", "a", "img", "pre", "code"}
    assert all(not name.startswith("on") for name, _ in found.attributes)


markdown = st.lists(
    st.sampled_from(
        [
            *("# ", "> ", "- ", "1. ", "`", "```\n", "*", "**", "~~", "[", "](", ")", "![", "|"),
            *("\n", "\n\n", "|-|\n", "[^1]", "[^1]: ", "^[", "<", ">", "<b>", "</p>", "<script>"),
            *("&amp;", "&#0;", "\\", '"', "'", "/", "//", "https://x.org", "javascript:", "    "),
            *("a", "я", "😀", "\u202e", "\x7f", "\ufffe", "\t", "\r", "=", "---\n", ":", "{", "%"),
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


@settings(deadline=None, max_examples=300)
@given(markdown)
def test_any_text_gives_balanced_harmless_html(text: str) -> None:
    found = parse(render(text))

    assert found.open == []
    assert "h1" not in found.tags
    assert not {"script", "style", "iframe", "form", "input", "b", "svg"} & set(found.tags)
    for name, value in found.attributes:
        assert not name.startswith("on")
        if name in ("href", "src"):
            assert not value.strip().lower().startswith(("javascript", "data:", "vbscript"))


@pytest.mark.parametrize(
    "piece", ["> ", "- ", "* ", "[", "![", "^[", "*a **a ", "`a", "[^a", "<a "]
)
def test_deep_and_hostile_nesting_has_a_result(piece: str) -> None:
    html = render(piece * 3000)

    assert parse(html).open == []


class Found(HTMLParser):
    """Tags and attributes of an HTML text, and what stays open at its end."""

    VOID = ("br", "hr", "img")

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def parse(html: str) -> Found:
    found = Found()
    found.feed(html)
    found.close()
    return found


def attributes(html: str) -> list[tuple[str, str]]:
    return parse(html).attributes
