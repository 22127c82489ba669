"""Markdown into the HTML of a material's page: well-formed, harmless, below the page's one h1."""

import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin


def render(markdown: str) -> SafeString:
    """CommonMark with tables, strikethrough and footnotes, as HTML that is safe to show.

    Raw HTML is shown as it is written. Headings begin at h2 and skip no level. Links go to http,
    https, mailto and within the site. An image of this site is shown; one of another host is a
    link to it, so that reading sends no request elsewhere. Any string has a result, within a
    second or two of work: a text with more mark-up than that is shown as it is written.
    """
    return _render(markdown, get_language())


# A page is read more often than it changes, and 200 000 characters take a while.
@lru_cache(maxsize=64)
def _render(markdown: str, language: str | None) -> SafeString:
    del language  # Part of the key: the labels of footnotes are in the reader's language.
    try:
        return mark_safe(_CLEANER.clean(_MARKDOWN.render(markdown)))
    except _TooMuch:
        return _show_as_written(markdown)


class _TooMuch(Exception):
    """The text has more mark-up than is worth a worker's time."""


# Each is 10 to 35 µs of work, whatever the text. 200 000 characters of prose take 10 000 to
# 40 000, 200 000 brackets would take 400 000.
_STEPS = 50_000


def _take_a_step(state: StateBlock | StateInline, *_: object) -> bool:
    """As the first rule at every place of the text: matches nothing, and counts."""
    state.env["steps"] = state.env.get("steps", 0) + 1
    if state.env["steps"] > _STEPS:
        raise _TooMuch
    return False


def _show_as_written(markdown: str) -> SafeString:
    return format_html(
        '<p class="muted">{}</p>\n<div class="as-written">{}</div>\n',
        gettext("This text is shown as it was written: it has too much mark-up to be laid out."),
        markdown,
    )


def _settle_tokens(state: StateCore) -> None:
    """Shift headings, replace style attributes (CSP), mark links that leave the site."""
    _settle_headings([token for token in state.tokens if token.type.startswith("heading_")])
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and (style := token.attrs.pop("style", None)):
            token.attrSet("class", str(style).replace("text-align:", "align-"))
        for child in token.children or ():
            if child.type == "link_open" and _leaves_the_site(str(child.attrs.get("href", ""))):
                child.attrSet("rel", "external noopener noreferrer")


def _settle_headings(tokens: Sequence[Token]) -> None:
    """The highest heading of the text becomes an h2, and none is more than one below the last."""
    shift = 2 - min((int(token.tag[1]) for token in tokens), default=1)
    last = 1
    for opening, closing in zip(tokens[::2], tokens[1::2], strict=True):
        last = min(int(opening.tag[1]) + shift, last + 1, 6)
        opening.tag = closing.tag = f"h{last}"


def _leaves_the_site(url: str) -> bool:
    return re.match(r"(?i)https?:|//", url) is not None


def _render_image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    words = escapeHtml(self.renderInlineAsText(token.children or [], options, env))
    if re.match(r"/(?!/)", source):
        return f'<img src="{escapeHtml(source)}" alt="{words}" loading="lazy">'
    inside_a_link = sum(t.nesting for t in tokens[:index] if t.type.startswith("link_"))
    if inside_a_link or not _leaves_the_site(source):
        return words
    return (
        f'<a href="{escapeHtml(source)}" rel="external noopener noreferrer">'
        f"{words or escapeHtml(gettext('Image'))}</a>"
    )


def _render_code(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    kind = f' class="language-{escapeHtml(language)}"' if language else ""
    return f'<pre tabindex="0"><code{kind}>{escapeHtml(token.content)}</code></pre>\n'


def _render_table_open(*_: object) -> str:
    return '<div class="table-scroll" tabindex="0"><table>'


def _render_table_close(*_: object) -> str:
    return "</table></div>\n"


def _render_footnote_way_back(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    name = self.rules["footnote_anchor_name"](tokens, index, options, env)
    count = tokens[index].meta["subId"]
    label = escapeHtml(gettext("Back to the text"))
    suffix = f":{count}" if count else ""
    return f' <a href="#fnref{name}{suffix}" class="footnote-backref" aria-label="{label}">↩</a>'


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    pattern = _ATTRIBUTE_VALUES.get(name)
    return value if pattern is None or re.fullmatch(pattern, value) else None


_ATTRIBUTE_VALUES = {
    "class": r"language-[\w+#.-]{1,40}|align-(left|right|center)|table-scroll|footnote[a-z-]*",
    "id": r"fn(ref)?[0-9:]{1,20}",
    "tabindex": "0",
    "src": r"/[^/].*|/",
    "start": r"[0-9]{1,9}",
}

_CLEANER = nh3.Cleaner(
    tags={
        *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code"),
        *("ul", "ol", "li", "em", "strong", "s", "a", "img", "sup", "section", "div"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    },
    attributes={
        "a": {"href", "title", "rel", "id", "class", "aria-label"},
        "img": {"src", "alt", "loading"},
        "ol": {"start", "class"},
        "li": {"id", "class"},
        "pre": {"tabindex"},
        "code": {"class"},
        "div": {"class", "tabindex"},
        **{tag: {"class"} for tag in ("th", "td", "sup", "section", "hr")},
    },
    attribute_filter=_keep_attribute,
    url_schemes={"http", "https", "mailto"},
    link_rel=None,
)

_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False}, renderer_cls=RendererHTML)
    .enable(["table", "strikethrough"])
    .use(footnote_plugin)
)
_MARKDOWN.block.ruler.before("table", "step", _take_a_step)
_MARKDOWN.inline.ruler.before("text", "step", _take_a_step)
_MARKDOWN.core.ruler.push("settle_tokens", _settle_tokens)
_MARKDOWN.add_render_rule("image", _render_image)
_MARKDOWN.add_render_rule("fence", _render_code)
_MARKDOWN.add_render_rule("code_block", _render_code)
_MARKDOWN.add_render_rule("table_open", _render_table_open)
_MARKDOWN.add_render_rule("table_close", _render_table_close)
_MARKDOWN.add_render_rule("footnote_anchor", _render_footnote_way_back)
