"""The list's search, filters and orders, the same on both databases."""

import random
from urllib.parse import parse_qsl

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from materials import actions, list_pages, whereabouts
from materials.list_pages import page_of
from materials.listing import SORTS, STATES, Selection
from materials.models import Material
from materials.search_keys import LONGEST_KEY, key_of
from materials.whereabouts import DELIVERIES
from messaging.models import InboxReceipt, OutboxMessage
from tests.materials.makers import draft, failure, letter, person, published, receipt, sent
from tests.materials.test_editor_pages import EVERYTHING, text_of

pytestmark = pytest.mark.django_db


def found(**query: str) -> list[str]:
    return [material.material_id for material in Selection.from_query(query).materials()]


# --- search ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "queues",
        "QUEUES that",
        "forg",
        "article-107",
        "107",
        "article 107",
        "Ёлка",
        "ёЛКИ",
        "deep",
        "tagged",
        "summary",
        "straße",
        "STRASSE",
        "a_b",
        "e\u0301te\u0301",
        "  queues   forgive  ",
        "C++",
    ],
)
def test_words_of_id_title_summary_tags_and_text_are_found_by_their_beginnings(words: str) -> None:
    draft(
        title="Queues that forgive",
        summary="A summary.",
        body="Something deep, Ёлки, Straße, a_b, été in C++.",
        tags=["tagged so"],
    )
    draft("other", title="Another", body="Nothing of it.")

    expected = ["article-107"]
    if words == "Ёлка":
        expected = []  # A beginning, not a form of the word.
    assert found(q=words) == expected


@pytest.mark.parametrize(
    "words", ["ueues", "forgive never", "***", "%", "'", "\\", "\x00", "&|!:*"]
)
def test_what_is_not_there_is_not_found(words: str) -> None:
    draft(title="Queues that forgive")

    assert found(q=words) == []


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        *(("it's", True), ("queues & forgive", True), ("a <-> b", True), ("!x", True)),
        *(("x:*|y", True), ("x|other", False), ("x & !other", False)),
        *(("':*", False), ("\\'", False), ('"', False), ("()", False)),
    ],
)
def test_signs_of_a_query_language_are_signs(words: str, is_found: bool) -> None:
    draft(title="It's queues, forgive x y b a")
    draft("other", title="Other")

    assert found(q=words) == (["article-107"] if is_found else [])


def test_what_a_sign_joins_to_the_next_word_is_a_whole_word() -> None:
    draft("article-107")

    assert found(q="article-10") == ["article-107"]
    assert found(q="articl-107") == []


@pytest.mark.parametrize("tag", ["queue", "очереди", 'que"ue', "a\\b", "é/è", "<b>", "😀"])
def test_a_tag_is_matched_whole_whatever_its_letters(tag: str) -> None:
    draft("a", tags=["x", tag])
    draft("b", tags=[f"{tag}s", tag.upper() + "!"])

    assert found(tag=tag) == ["a"]


def test_the_search_follows_the_draft() -> None:
    draft(title="Before")
    actions.edit("article-107", title="After", actor="ada")

    assert found(q="before") == []
    assert found(q="after") == ["article-107"]


def test_the_longest_text_can_be_saved_and_found() -> None:
    words = " ".join(f"{number:05}я" for number in range(24_000))
    draft(body=words)

    assert found(q="00007я") == ["article-107"]
    assert len(key_of([words])) <= LONGEST_KEY
    assert len(key_of(["я" * 199_000 + " x"])) < 100


def test_a_text_of_one_letter_words_beyond_latin_can_be_saved() -> None:
    draft(body=" ".join(chr(0x20000 + number) for number in range(40_000)))

    assert found(q=chr(0x20000 + 5)) == ["article-107"]


# --- filters -----------------------------------------------------------------------------------


def test_each_state_finds_its_own() -> None:
    draft("a-draft")
    published("b-published")
    published("c-changed")
    actions.edit("c-changed", title="New", actor="ada")
    published("d-withdrawn")
    actions.withdraw("d-withdrawn", actor="ada")

    assert found(state="draft") == ["a-draft"]
    assert set(found(state="published")) == {"b-published", "c-changed"}
    assert found(state="changed") == ["c-changed"]
    assert found(state="withdrawn") == ["d-withdrawn"]
    assert found(state="scheduled") == []


def one_everywhere() -> None:
    """Materials in each state and wherever a fact can be; every second one differs otherwise."""
    others = {"language": "ru", "tags": ["queue"], "title": "Nothing of it"}
    draft("z-draft")
    published("a-waiting", **others)
    published("b-sent")
    sent("b-sent", 1)
    published("c-arrived")
    sent("c-arrived", 1)
    receipt("c-arrived", 1)
    published("d-parked", **others)
    OutboxMessage.objects.filter(material_id="d-parked").update(state="failed")
    published("e-dead")
    sent("e-dead", 1)
    letter("e-dead", 1)
    published("f-audit-dead", **others)
    sent("f-audit-dead", 1)
    receipt("f-audit-dead", 1)
    letter("f-audit-dead", 1, "audit")
    published("g-retrying")
    sent("g-retrying", 1)
    failure("g-retrying", 1)
    published("h-again", **others)
    sent("h-again", 1)
    receipt("h-again", 1)
    actions.withdraw("h-again", actor="ada")
    actions.edit("b-sent", title="Queues that forgive more", actor="grace")


def test_each_delivery_finds_what_the_rows_tell() -> None:
    one_everywhere()

    assert sorted(found(delivery="waiting")) == ["a-waiting", "h-again"]
    assert sorted(found(delivery="sent")) == ["b-sent", "g-retrying"]
    assert sorted(found(delivery="arrived")) == ["c-arrived"]
    assert sorted(found(delivery="trouble")) == ["d-parked", "e-dead", "f-audit-dead"]


def test_a_fact_of_which_no_record_is_left_is_in_the_catalog() -> None:
    published()
    sent("article-107", 1)
    OutboxMessage.objects.all().delete()

    assert found(delivery="arrived") == ["article-107"]
    assert [found(delivery=other) for other in ("waiting", "sent", "trouble")] == [[], [], []]


def test_a_letter_that_was_settled_is_no_trouble() -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1)
    letter("article-107", 1, state="resolved")

    assert found(delivery="trouble") == []
    assert found(delivery="arrived") == ["article-107"]


def test_tag_language_and_author_find_exactly_their_own() -> None:
    draft("a", tags=["one", "two"], language="en")
    draft("b", tags=["one two"], language="en-GB", actor="grace")
    draft("c", tags=['"one"', "***"])

    assert found(tag="one") == ["a"]
    assert found(tag="one two") == ["b"]
    assert found(tag='"one"') == ["c"]
    assert found(tag="***") == ["c"]
    assert found(tag="One") == []
    assert found(language="en") == ["a"]
    assert found(author="grace") == ["b"]
    assert found(tag="one", author="grace") == []


def test_orders() -> None:
    draft("b", title="Alpha")
    draft("a", title="Beta")
    draft("c", title="Alpha")
    actions.edit("b", title="Alpha", body="Edited.", actor="ada")

    assert found() == ["b", "c", "a"]
    assert found(sort="oldest") == ["a", "c", "b"]
    assert found(sort="title") == ["b", "c", "a"]
    assert found(sort="id") == ["a", "b", "c"]


@pytest.mark.parametrize("sort", ["", *SORTS])
def test_two_filters_find_what_each_of_them_finds(sort: str) -> None:
    one_everywhere()
    others = [{"state": state} for state in STATES]
    others += [{"q": "queues"}, {"tag": "queue"}, {"language": "ru"}, {"author": "grace"}]

    for delivery in ("", *DELIVERIES):
        there = found(delivery=delivery, sort=sort)
        for other in others:
            alone = found(**other)
            both = [name for name in there if name in alone]
            assert found(delivery=delivery, sort=sort, **other) == both, other


# --- the page ----------------------------------------------------------------------------------


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


def test_the_address_keeps_the_selection_from_page_to_page(editor: Client) -> None:
    for number in range(60):
        draft(f"article-{number:02}", tags=["t"], language="ru")

    page = editor.get("/editor/?q=queues&tag=t&language=ru&sort=title").content.decode()

    assert "q=queues&amp;tag=t&amp;language=ru&amp;sort=title&amp;page=2" in page
    assert '<option value="title" selected>' in page
    assert '<option value="ru" selected>' in page


def queries_for(editor: Client, query: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert editor.get(f"/editor/?{query}").status_code == 200
    return len(captured)


def test_the_list_asks_a_constant_number_of_questions_whatever_is_on_it(editor: Client) -> None:
    queries = [
        "",
        "page=2",
        "q=queues",
        "tag=t",
        "language=en",
        "author=ada",
        *(f"state={state}" for state in STATES),
        *(f"delivery={delivery}" for delivery in DELIVERIES),
        *(f"sort={sort}" for sort in SORTS),
        "q=queues&tag=t&language=en&author=ada&state=published&delivery=sent&sort=title",
    ]
    for number in range(3):
        at_every_station(f"few-{number}")
    for query in queries:
        queries_for(editor, query)  # what is kept for some minutes is known then
    for_few = {query: queries_for(editor, query) for query in queries}
    for number in range(60):
        at_every_station(f"many-{number}", fails=True)

    for_many = {query: queries_for(editor, query) for query in queries}

    assert for_many == for_few
    assert max(for_many.values()) <= 17


def test_a_word_that_many_share_takes_four_questions_more_at_most(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        draft(f"article-{number}", tags=["t"])
    for_few = queries_for(editor, "q=queues&tag=t")
    monkeypatch.setattr(list_pages, "MOST_LISTED", 50)
    monkeypatch.setattr(list_pages, "FIRST_FEW", 10)
    monkeypatch.setattr(list_pages, "FIRST_SOME", ())
    monkeypatch.setattr(list_pages, "FIRST_MANY", (20,))
    cache.clear()

    assert queries_for(editor, "q=queues&tag=t") <= for_few + 4
    assert queries_for(editor, "q=queues&tag=t") <= for_few + 2  # where they end is known now


def at_every_station(name: str, *, fails: bool = False) -> None:
    """A draft, and one material each that is waiting, sent, arrived and in trouble."""
    draft(f"{name}-draft", tags=["t"], language="en")
    for station in DELIVERIES:
        published(f"{name}-{station}", tags=["t"], language="en")
        if station != "waiting":
            sent(f"{name}-{station}", 1)
        if station == "arrived":
            receipt(f"{name}-{station}", 1)
        if station == "trouble":
            letter(f"{name}-{station}", 1)
        if fails:
            failure(f"{name}-{station}", 1)


def test_a_long_list_ends_and_says_so(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_pages, "MOST_LISTED", 55)
    for number in range(60):
        draft(f"article-{number:02}", title=f"Title {number:02}")

    first = editor.get("/editor/?sort=title")
    last = editor.get("/editor/?sort=title&page=9")

    assert [material.material_id for material, *_ in first.context["rows"]] == found(sort="title")[
        :50
    ]
    assert "The first 55 of many more" in text_of(first)
    assert [material.material_id for material, *_ in last.context["rows"]] == found(sort="title")[
        50:55
    ]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("asked", ["", "q=title", "tag=x", "q=title&tag=x&language=en"])
def test_few_are_listed_in_the_very_order_of_many(
    editor: Client, sort: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        draft(
            f"article-{number * 4 % 9}",
            title=f"Title {number * 5 % 9 // 2}",
            tags=["x"] if number else [],
            language="en",
        )
    monkeypatch.setattr(list_pages, "PAGE_SIZE", 2)

    def listed() -> list[str]:
        return [
            material.material_id
            for page in (1, 2)
            for material, *_ in editor.get(f"/editor/?{asked}&sort={sort}&page={page}").context[
                "rows"
            ]
        ]

    few = listed()
    monkeypatch.setattr(list_pages, "MOST_LISTED", 4)
    # Enough among the first few, some more, many, in neither.
    for first_few, first_some, first_many in ((5, 5, 8), (0, 6, 1), (0, 0, 6), (0, 0, 1)):
        monkeypatch.setattr(list_pages, "FIRST_FEW", first_few)
        monkeypatch.setattr(list_pages, "FIRST_SOME", (first_some,) if first_some else ())
        monkeypatch.setattr(list_pages, "FIRST_MANY", (first_many,))
        monkeypatch.setattr(list_pages, "FIRST_MOST", ())
        cache.clear()
        assert listed() == few
    assert few == found(sort=sort, **dict(parse_qsl(asked)))[:4]


@pytest.mark.parametrize("sort", SORTS)
def test_what_has_arrived_is_listed_as_a_plain_look_at_all_would_list_it(
    sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(random.random())  # pytest-randomly tells its seed
    for number in range(40):
        name = f"article-{chance.randrange(10**6)}-{number}"
        published(name, title=f"Title {chance.randrange(8)}", tags=["x"])
        if chance.random() < 0.9:
            sent(name, 1)
        if chance.random() < 0.8:
            receipt(name, 1)
        if chance.random() < 0.1:
            letter(name, 1)
    selection = Selection(words="title", tag="x", delivery="arrived", sort=sort)
    plain = [material.pk for material in selection.materials()]
    monkeypatch.setattr(list_pages, "PAGE_SIZE", 5)

    for most in (50, 10):
        monkeypatch.setattr(list_pages, "MOST_LISTED", most)
        # Enough in the first window, in the second, in neither.
        for first_few, first_many in ((39, 39), (4, 30), (0, 1)):
            monkeypatch.setattr(list_pages, "FIRST_FEW", first_few)
            monkeypatch.setattr(list_pages, "FIRST_SOME", ())
            monkeypatch.setattr(list_pages, "FIRST_MANY", (first_many,))
            cache.clear()
            pages = [page_of(selection, "1"), page_of(selection, "2")]
            assert [material.pk for page in pages for material in page] == plain[:10]
            assert pages[0].paginator.count == min(len(plain), most)
            assert pages[0].is_cut == (len(plain) > most)  # type: ignore[attr-defined]  # set on it


def test_what_many_share_is_found_though_its_place_was_noted_earlier(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_pages, "MOST_LISTED", 2)
    monkeypatch.setattr(list_pages, "FIRST_FEW", 1)
    monkeypatch.setattr(list_pages, "FIRST_SOME", ())
    monkeypatch.setattr(list_pages, "FIRST_MANY", (2,))
    for number in range(4):
        draft(f"before-{number}", title="Shared")
    editor.get("/editor/?q=shared")
    for number in range(4):
        draft(f"after-{number}", title="Shared")

    rows = editor.get("/editor/?q=shared").context["rows"]

    assert [material.material_id for material, *_ in rows] == ["after-3", "after-2"]


def test_what_is_sent_is_looked_for_among_the_newest_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("a-old", "b-new"):
        published(name)
        sent(name, 1)

    assert sorted(found(delivery="sent")) == ["a-old", "b-new"]
    monkeypatch.setattr(whereabouts, "NEWEST_FACTS", 1)
    assert found(delivery="sent") == ["b-new"]


def test_languages_and_authors_can_be_chosen_once_each(editor: Client) -> None:
    for number, (language, actor) in enumerate([("en", "b"), ("", "a"), ("ru", "b"), ("en", "c")]):
        draft(f"article-{number}", language=language, actor=actor)

    offered = editor.get("/editor/").context["choices"]

    assert offered["languages"] == [("en", "en"), ("ru", "ru")]
    assert offered["authors"] == [("a", "a"), ("b", "b"), ("c", "c")]


def test_a_withdrawal_that_arrived_is_not_said_to_be_in_the_catalog(editor: Client) -> None:
    published()
    actions.withdraw("article-107", actor="ada")
    sent("article-107", 2)
    receipt("article-107", 2)

    assert "withdrawn out of the catalog revision 2" in text_of(editor.get("/editor/"))


def test_texts_are_not_read_for_the_list(editor: Client) -> None:
    draft(body="A very long text.")

    with CaptureQueriesContext(connection) as captured:
        editor.get("/editor/")

    assert not [query for query in captured if '"body"' in query["sql"]]


def test_a_receipt_of_an_older_revision_is_no_arrival_of_the_last() -> None:
    published()
    sent("article-107", 1)
    receipt("article-107", 1)
    actions.edit("article-107", title="Second", actor="ada")
    actions.publish("article-107", actor="ada")
    sent("article-107", 2)

    assert InboxReceipt.objects.count() == 1
    assert found(delivery="arrived") == []
    assert found(delivery="sent") == ["article-107"]
    assert Material.objects.get().revision == 2
