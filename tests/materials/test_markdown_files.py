"""Reading a Markdown file: what it says, or one fault with its line; never another error."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from materials import markdown_files
from materials.content import Content
from materials.markdown_files import FileFault


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "article-107.md"


def fault_of(path: Path) -> FileFault:
    with pytest.raises(FileFault) as fault:
        markdown_files.read(path)
    str(fault.value).encode("utf-8")
    return fault.value


def test_a_file_says_id_title_summary_language_tags_and_body(path: Path) -> None:
    path.write_text(
        "---\n"
        "id: queues.1\n"
        "title: 'Queues: a start'\n"
        "summary: >\n  Two lines\n  of it.\n"
        "language: en\n"
        "tags: [amqp, Очереди]\n"
        "author: ignored\n"
        "---\n\n# Heading\n\nText — with dashes.\n\n---\n\nAnd a rule.\n",
        encoding="utf-8",
    )

    file = markdown_files.read(path)

    assert file.material_id == "queues.1"
    assert file.content == Content(
        title="Queues: a start",
        summary="Two lines of it.",
        body="# Heading\n\nText — with dashes.\n\n---\n\nAnd a rule.",
        language="en",
        tags=("amqp", "Очереди"),
    )


def test_without_an_id_the_file_is_named_for_the_material(path: Path) -> None:
    path.write_text("---\ntitle: T\n---\n")

    assert markdown_files.read(path).material_id == "article-107"


@pytest.mark.parametrize("written", ["2024", "no", "1.0", "2024-02-30", "0x1F"])
def test_plain_values_stay_the_text_that_was_written(path: Path, written: str) -> None:
    path.write_text(f"---\ntitle: {written}\nlanguage: {written}\ntags: [{written}]\n---\n")

    content = markdown_files.read(path).content

    assert (content.title, content.language, content.tags) == (written, written, (written,))


@pytest.mark.parametrize("empty", ["", "~", "null"])
def test_an_empty_value_is_as_good_as_none(path: Path, empty: str) -> None:
    path.write_text(f"---\ntitle: T\nsummary: {empty}\nlanguage: {empty}\ntags: {empty}\n---\n")

    assert markdown_files.read(path).content == Content(title="T")


def test_tags_may_be_one_line_with_commas(path: Path) -> None:
    path.write_text("---\ntitle: T\ntags: amqp, outbox ,\n---\n")

    assert markdown_files.read(path).content.tags == ("amqp", "outbox")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\nOne\r\nTwo\r\n")

    assert markdown_files.read(path).content == Content(title="T", body="One\nTwo")


@pytest.mark.parametrize(
    ("data", "says", "line"),
    [
        (b"", "does not begin with front matter", 1),
        (b"# Heading\n", "does not begin with front matter", 1),
        (b"---\ntitle: T\n\nText", "no closing line", 1),
        (b"---\ntitle: T\n---\n\nText\n\xff\n", "not UTF-8", 6),
        ("---\ntitle: T\n---\n".encode("utf-16"), "not UTF-8", 1),
        (b"---\ntitle: T\nsummary: 'open\n---\n", "end of stream", 3),
        (b"---\ntitle: a: b\n---\n", "mapping values are not allowed", 2),
        (b"---\ntitle: T\nx: !!python/object/apply:os.system ['id']\n---\n", "constructor", 3),
        (b"---\ntitle: T\nx: !!timestamp 2024-99-99\n---\n", "not YAML", None),
        (b"---\ntitle: T\nx: !!int " + b"9" * 5000 + b"\n---\n", "not YAML", None),
        (b"---\ntitle: T\nx: \x01\n---\n", "not YAML", None),
        (b"---\ntitle: T\ntitle: U\n---\n", "given twice", 3),
        (b"---\ntitle: T\n? [a, b]\n: c\n---\n", "not one word", 3),
        (b"---\n- title\n- T\n---\n", "not a list of", 2),
        (b"---\njust text\n---\n", "not a list of", 2),
        (b"---\ntitle: [T]\n---\n", "`title` is not one text", None),
        (b"---\ntitle: T\nid: {a: b}\n---\n", "`id` is not one text", None),
        (b"---\ntitle: T\ntags: {a: b}\n---\n", "`tags` is not a list of texts", None),
        (b"---\ntitle: T\ntags: [a, [b]]\n---\n", "`tags` is not a list of texts", None),
        (b"---\ntitle: T\nx: " + b"[" * 5000 + b"\n---\n", "not YAML", None),
        (b"---\ntitle: T\nx: &a [1]\n---\n", "anchors and aliases", 3),
        (b"---\ntitle: T\nx: *a\n---\n", "anchors and aliases", 3),
        (b"---\ntitle: T\n" + b"# comment\n" * 4000 + b"---\n", "too long", 1),
        (b"---\ntitle: T\n---\n" + b"x" * 1024 * 1024, "larger than 1024 KiB", None),
    ],
)
def test_a_file_at_fault_says_what_and_where(
    path: Path, data: bytes, says: str, line: int | None
) -> None:
    path.write_bytes(data)

    fault = fault_of(path)

    assert says in str(fault)
    assert fault.line == line


def test_a_few_bytes_that_would_grow_without_end_are_refused_at_once(path: Path) -> None:
    layers = ["a0: &a0 {x: y}"]
    layers += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path.write_text("---\ntitle: T\n" + "\n".join(layers) + "\n---\n")

    began = time.monotonic()
    fault = fault_of(path)

    assert "anchors" in str(fault)
    assert time.monotonic() - began < 1


def test_what_is_not_a_regular_file_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("---\ntitle: T\n---\n")
    (tmp_path / "link.md").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe.md")

    assert "symbolic link" in str(fault_of(tmp_path / "link.md"))
    assert "not a regular file" in str(fault_of(tmp_path / "pipe.md"))
    assert "cannot be opened" in str(fault_of(tmp_path / "gone.md"))


def test_only_markdown_files_of_the_folder_itself_are_named_in_order(tmp_path: Path) -> None:
    for name in ("b.md", "a.MD", ".hidden.md", "c.txt", "README"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nothing")

    assert markdown_files.names(tmp_path) == ["a.MD", "b.md", "dangling.md"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=200).map(lambda data: b"---\n" + data + b"\n---\n"),
        st.text(alphabet=":-[]{}&*!|>'\"#%@,? \n\tab0~<=", max_size=80).map(
            lambda text: f"---\n{text}\n---\n".encode()
        ),
    )
)
@example(b"---\n? ? ?\n---\n")
@example(b"---\n<<: x\n---\n")
@example(b"---\n!!set {a, b}\n---\n")
@example(b"---\ntitle: !!binary a\n---\n")
@example(b'---\ntitle: "\\ud800"\n---\n')
@example(b'---\n"\\ud800": !!x\n---\n')
def test_no_bytes_whatever_end_in_another_error(path: Path, data: bytes) -> None:
    path.write_bytes(data)

    try:
        file = markdown_files.read(path)
    except FileFault as fault:
        str(fault).encode("utf-8")
    else:
        assert isinstance(file.content.title, str)


FRONT_MATTER_SIGNS = st.text("ab:- \n[]{},'\"#&*%@`~?0é\\\t!|>", max_size=30)


@given(FRONT_MATTER_SIGNS, st.booleans())
def test_the_quick_reader_says_what_the_plain_one_says(text: str, after_a_name: bool) -> None:
    text = f"a: {text}" if after_a_name else text

    assert _said(markdown_files._load, text) == _said(_plainly, text)


def _plainly(text: str) -> Any:
    return yaml.load(text, Loader=markdown_files._PlainLoader)


def _said(load: Callable[[str], Any], text: str) -> Any:
    try:
        return load(text)
    except (yaml.YAMLError, ValueError) as error:
        return str(error)
