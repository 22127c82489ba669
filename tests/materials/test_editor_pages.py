"""The editors' pages: who sees what, what the forms say, and odd requests that are no 500."""

import re
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from materials import actions
from materials.models import Material, Schedule
from materials.refusals import TryAgain
from messaging.models import OutboxMessage
from tests.materials.makers import draft, facts, person, published, receipt

pytestmark = pytest.mark.django_db

EVERYTHING = ("view", "add", "change", "publish", "withdraw")


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def text_of(response) -> str:
    """What a person reads on the page."""
    reader = Words()
    reader.feed(response.content.decode())
    return " ".join(reader.words)


# --- the list ----------------------------------------------------------------------------------


def test_the_list_shows_state_and_delivery_of_the_last_fact(editor: Client) -> None:
    draft("article-1", title="Not out yet")
    for number, state in ((2, "sent"), (3, "pending"), (4, "failed"), (5, "sent")):
        published(f"article-{number}", title=f"Title {number}")
        OutboxMessage.objects.filter(material_id=f"article-{number}").update(state=state)
    actions.withdraw("article-2", actor="ada")
    receipt("article-5", 1)

    text = text_of(editor.get("/editor/"))

    assert "Not out yet article-1 draft –" in text
    assert "Title 2 article-2 withdrawn waiting revision 2" in text
    assert "Title 3 article-3 published waiting revision 1" in text
    assert "Title 4 article-4 published in trouble revision 1" in text
    assert "Title 5 article-5 published in the catalog revision 1" in text


def test_a_redrive_to_one_consumer_is_not_taken_for_the_delivery_of_the_fact(
    editor: Client,
) -> None:
    published("article-1")
    message = OutboxMessage.objects.get()
    OutboxMessage.objects.update(state="sent")
    message.pk, message.consumer, message.state = None, "catalog", "failed"
    message.save(force_insert=True)

    assert "published sent revision 1" in text_of(editor.get("/editor/"))


def test_the_list_asks_the_database_as_often_for_fifty_materials_as_for_one(
    editor: Client,
) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as captured:
            editor.get("/editor/")
        return len(captured)

    published("article-0")
    for_one = questions()
    for number in range(1, 50):
        published(f"article-{number}")

    assert questions() == for_one


def test_the_list_is_searched_filtered_and_paged(editor: Client) -> None:
    for number in range(60):
        draft(f"article-{number:02}", title=f"Очередь {number:02}")
    published("other", title="Published")

    assert "61 materials" in text_of(editor.get("/editor/"))
    assert "Page 2 of 2" in text_of(editor.get("/editor/?page=2"))
    found = text_of(editor.get("/editor/?q=очередь+07&state=draft"))
    assert "Очередь 07" in found
    assert "1 material " in found
    assert "Nothing matches" in text_of(editor.get("/editor/?q=очередь&state=published"))


def test_an_empty_list_says_how_to_begin(editor: Client) -> None:
    assert "import_materials" in text_of(editor.get("/editor/"))


@pytest.mark.parametrize(
    "query",
    [
        "page=-1",
        "page=0",
        "page=abc",
        "page=" + "9" * 5000,
        "page=99999999999999999999999",
        "page=%00",
        "q=%00",
        "q=%ff%fe",
        "q=" + "x" * 5000,
        "q=%25_%5C%27%22",
        "q=%F0%9F%98%80",
        "state=%00",
        "state=nonsense&state=draft",
        "tag=%00&language=%00&author=%00",
        "tag=" + "x" * 5000,
        "delivery=%00&sort=%00",
        "q=a&q=b&page=1&page=2",
    ],
)
def test_odd_queries_get_a_page(editor: Client, query: str) -> None:
    draft()

    assert editor.get(f"/editor/?{query}").status_code == 200
    assert editor.get(f"/editor/article-107/history/?{query}").status_code == 200


@pytest.mark.parametrize("page", ["edit", "history", "publish", "withdraw"])
@pytest.mark.parametrize(
    "material_id", ["unknown", "%FF", "%00", "a%00b", "A", "a%0A", "a" * 65, "a%2Fb", "..", "я"]
)
def test_pages_of_unknown_or_impossible_ids_are_not_found(
    editor: Client, material_id: str, page: str
) -> None:
    act = editor.post if page in ("publish", "withdraw") else editor.get

    assert act(f"/editor/{material_id}/{page}/").status_code == 404


def test_a_material_may_be_called_new(editor: Client) -> None:
    draft("new", title="A material called new")

    assert text_of(editor.get("/editor/new/")).count("New material")
    assert "A material called new" in text_of(editor.get("/editor/new/edit/"))


def test_what_editors_write_is_never_taken_for_markup(editor: Client) -> None:
    nasty = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    published("article-1", title=nasty, summary=nasty, body=nasty, tags=[nasty[:40]])
    actions.withdraw("article-1", reason=nasty, actor="ada")

    for path in ("/editor/", "/editor/article-1/edit/", "/editor/article-1/history/"):
        page = editor.get(path).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_pages_need_no_inline_script_or_style(editor: Client) -> None:
    published()

    for path in ("/", "/editor/", "/editor/new/", "/editor/article-107/history/"):
        page = editor.get(path).content.decode()
        assert "style=" not in page
        assert "<style" not in page
        assert "<script>" not in page
        assert " onclick=" not in page


# --- writing -----------------------------------------------------------------------------------


def form(material: Material | None = None, **fields: object) -> dict[str, object]:
    """What a browser sends from the form of that draft, with some fields typed over."""
    shown: dict[str, object] = {"title": "", "summary": "", "body": "", "language": "", "tags": ""}
    if material:
        shown |= {
            "title": material.title,
            "summary": material.summary,
            "body": material.body.replace("\n", "\r\n"),
            "language": material.language,
            "tags": "\r\n".join(material.tags),
            "version": material.version,
        }
    return shown | fields


def test_a_new_material_is_saved_as_a_draft(editor: Client) -> None:
    response = editor.post(
        "/editor/new/",
        form(material_id="article-1", title="Title", body="One\r\nTwo", tags="a\r\nb, c\r\n"),
        follow=True,
    )

    assert "The draft of “Title” is saved." in text_of(response)
    material = Material.objects.get()
    assert (material.body, material.tags) == ("One\nTwo", ["a", "b, c"])
    assert (material.state, material.created_by) == ("draft", "ada")
    assert facts() == []


def test_a_new_material_can_be_published_with_the_same_click(editor: Client) -> None:
    response = editor.post(
        "/editor/new/", form(material_id="article-1", title="Title", then="publish"), follow=True
    )

    assert "“Title” is published (revision 1)." in text_of(response)
    assert facts() == [("article-1", "material.published", 1)]


def test_a_form_sent_back_unchanged_changes_nothing(editor: Client) -> None:
    material = draft(body="    code\n\nText\n", tags=["a, b", "c"], language="en")
    before = Material.objects.values().get()

    response = editor.post("/editor/article-107/edit/", form(material))

    assert response.status_code == 302
    assert Material.objects.values().get() == before


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"material_id": ""}, "material_id", "Use 1 to 64 characters"),
        ({"material_id": "Not an id"}, "material_id", "Use 1 to 64 characters"),
        ({"material_id": "a\x00"}, "material_id", "Use 1 to 64 characters"),
        ({"material_id": "taken"}, "material_id", "There is a material “taken” already."),
        ({"title": ""}, "title", "it cannot stay blank"),
        ({"title": "   "}, "title", "it cannot stay blank"),
        ({"title": "a\x00b"}, "title", "U+0000"),
        ({"title": "x" * 300}, "title", "At most 200 characters fit; this has 300."),
        ({"summary": "x" * 501}, "summary", "At most 500 characters fit"),
        ({"body": "x\x00"}, "body", "U+0000"),
        ({"body": "x" * 200_001}, "body", "At most 200000 characters fit"),
        ({"body": "я" * 140_000}, "body", "This cannot be sent to readers"),
        ({"language": "English"}, "language", None),
        ({"language": "not a language"}, "language", "BCP 47"),
        ({"tags": "x" * 51}, "tags", "At most 50 characters fit"),
        ({"tags": "\n".join(map(str, range(21)))}, "tags", "At most 20 tags fit"),
    ],
)
@pytest.mark.parametrize("then", ["", "publish"])
def test_what_cannot_be_published_is_told_beside_the_field(
    editor: Client, fields: dict[str, str], field: str, says: str | None, then: str
) -> None:
    draft("taken", title="First")
    if says is None:  # A well-formed tag, if an unknown one.
        response = editor.post("/editor/new/", form(material_id="a", title="T", **fields))
        assert response.status_code == 302
        return

    sent = form(**{"material_id": "article-1", "title": "Title", "then": then, **fields})
    response = editor.post("/editor/new/", sent)

    assert response.status_code == 422
    assert set(response.context["form"].errors) == {field}
    assert says in str(response.context["form"].errors[field])
    page = response.content.decode()
    assert "Nothing was saved" in page
    assert f'aria-describedby="id_{field}' in page
    assert Material.objects.count() == 1
    assert not OutboxMessage.objects.exists()


@pytest.mark.parametrize(
    "path", ["", "new/", "article-107/edit/", "article-107/history/", "article-107/publish/"]
)
def test_no_cache_keeps_an_editors_page_for_others(editor: Client, path: str) -> None:
    draft()

    assert editor.get(f"/editor/{path}")["Cache-Control"] == "private, no-cache"


def test_several_faults_are_told_at_once(editor: Client) -> None:
    draft()

    response = editor.post(
        "/editor/article-107/edit/", form(title="\x00", summary="x" * 501, language="?", version=1)
    )

    assert set(response.context["form"].errors) == {"title", "summary", "language"}
    assert Material.objects.get().version == 1


URLENCODED = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("new/", b"material_id=a&summary=%EF%BF%BD&title=%ED%A0%BD%FF&body=%C3"),
        ("article-107/edit/", b"version=2&summary=%EF%BF%BD&title=a\xff&body=\xd1\x8f"),
        ("article-107/withdraw/", b"reason=%ED%B0%80"),
        ("bulk/", b"act=withdraw&items=article-107:2&reason=a+%C3"),
        ("article-107/schedule/", b"act=withdraw&when=2999-01-01T00:00:00&zone=UTC&reason=%FF"),
    ],
)
def test_bytes_that_are_no_text_are_refused_beside_their_field(
    editor: Client, path: str, sent: bytes
) -> None:
    published(title="Kept")
    actions.edit("article-107", title="Draft", actor="ada")

    response = editor.post(f"/editor/{path}", sent, content_type=URLENCODED)

    assert response.status_code == 422
    form = response.context.get("form") or response.context["withdraw_form"]
    assert set(form.errors) == ({"reason"} if b"reason" in sent else {"title", "body"})
    assert "bytes that are no text" in text_of(response)
    assert Material.objects.get().title == "Draft"
    assert len(facts()) == 1
    assert not Schedule.objects.exists()


def test_what_is_no_text_in_a_form_of_another_kind_is_refused_too(editor: Client) -> None:
    sent = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % field
        for field in ((b"material_id", b"a"), (b"title", b"a\xff"))
    )

    response = editor.post("/editor/new/", sent + b"--x--", "multipart/form-data; boundary=x")

    assert set(response.context["form"].errors) == {"title"}


def test_a_replacement_character_that_somebody_typed_is_a_character(editor: Client) -> None:
    editor.post("/editor/new/", urlencode(form(material_id="a", title="“\ufffd”")), URLENCODED)

    assert Material.objects.get().title == "“\ufffd”"


def test_who_saves_second_sees_both_drafts_and_decides(editor: Client) -> None:
    seen = draft(title="As both saw it", body="Text.")
    actions.edit("article-107", title="Grace's title", body="Text.", actor="grace", version=1)

    conflict = editor.post("/editor/article-107/edit/", form(seen, title="Ada's title"))

    assert conflict.status_code == 409
    text = text_of(conflict)
    assert "grace saved another draft of “As both saw it”" not in text
    assert "grace saved another draft" in text
    assert "Grace's title" in text
    assert "Ada's title" in text
    assert [label for label, _, _ in conflict.context["differing"]] == ["Title"]
    assert Material.objects.get().title == "Grace's title"

    kept = {field.html_name: field.value() or "" for field in conflict.context["form"]}
    assert editor.post("/editor/article-107/edit/", kept).status_code == 302
    assert Material.objects.get().title == "Ada's title"


@pytest.mark.parametrize("version", [None, "", "abc", "-1", "9" * 5000, "\x00", "²"])
def test_a_form_that_does_not_say_what_it_was_made_from_overwrites_nothing(
    editor: Client, version: str | None
) -> None:
    seen = draft(title="Mine")
    fields = form(seen, title="Other") | {"version": version}
    if version is None:
        del fields["version"]

    assert editor.post("/editor/article-107/edit/", fields).status_code == 409
    assert Material.objects.get().title == "Mine"


def test_saving_and_publishing_the_same_again_says_that_it_is_published(editor: Client) -> None:
    material = published(title="Title")

    response = editor.post("/editor/article-107/edit/", form(material, then="publish"), follow=True)

    assert "“Title” is published as it stands (revision 1)." in text_of(response)
    assert len(facts()) == 1


def test_a_busy_database_is_told_above_the_form_with_nothing_lost(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*args: object, **kwargs: object) -> None:
        raise TryAgain("The database is busy: try again.")

    monkeypatch.setattr(actions, "create", busy)
    response = editor.post("/editor/new/", form(material_id="a", title="Kept"))

    assert response.status_code == 422
    assert "The database is busy: try again." in text_of(response)
    assert 'value="Kept"' in response.content.decode()


def test_the_history_tells_every_fact(editor: Client) -> None:
    published("article-1", title="First title")
    actions.withdraw("article-1", reason="Out of date.", actor="grace")
    actions.publish("article-1", actor="ada")
    actions.withdraw("article-1", reason="", actor="ada")
    OutboxMessage.objects.filter(revision=1).update(state="sent")

    text = text_of(editor.get("/editor/article-1/history/"))

    assert "1 published First title" in text
    assert "2 withdrawn Out of date." in text
    assert "4 withdrawn no reason given" in text
    assert text.index("4 withdrawn") < text.index("1 published")


# --- rights ------------------------------------------------------------------------------------

PAGES = ["/editor/", "/editor/new/", "/editor/article-107/edit/", "/editor/article-107/history/"]
ACTS = ["/editor/article-107/publish/", "/editor/article-107/withdraw/"]


def test_anonymous_people_sign_in_first_and_come_back(client: Client) -> None:
    published()

    for path in PAGES:
        response = client.get(path)
        assert response.status_code == 302
        assert response["Location"] == f"{reverse('login')}?next={path}"
    assert len(facts()) == 1


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        *((act, None) for act in ACTS),
        ("/editor/article-107/schedule/?act=withdraw", None),
        ("/editor/article-107/restore/", "/editor/article-107/history/"),
        ("/editor/bulk/", "/editor/"),
        ("/editor/schedule/1/cancel/", "/editor/"),
        ("/editor/schedule/1/noted/", "/editor/"),
    ],
)
def test_an_act_of_somebody_signed_out_leads_to_the_login_and_from_there_to_its_page(
    client: Client, path: str, leads_to: str | None
) -> None:
    published()
    ada = person(*EVERYTHING)

    asked = client.post(path, {"act": "withdraw", "items": "article-107:1", "reason": "No."})
    client.force_login(ada)
    page = client.get(path)

    assert asked.status_code == 302
    assert asked["Location"] == f"{reverse('login')}?next={quote(path)}"
    assert (page.status_code, page.headers.get("Location")) == (302 if leads_to else 200, leads_to)
    assert len(facts()) == 1


def test_people_without_any_right_are_turned_away(client: Client) -> None:
    client.force_login(person())
    material = published()
    actions.edit("article-107", title="Another", actor="ada")

    for path in PAGES:
        assert client.get(path).status_code == 403
    for path in (*PAGES[1:3], *ACTS):
        response = client.post(path, form(material, material_id="x", title="Taken over"))
        assert response.status_code == 403
        assert "Not yours to open" in text_of(response)
    assert len(facts()) == 1
    assert Material.objects.get().title == "Another"


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/editor/?q=a", '<a href="/editor/?q=a">'),
        ("http://testserver/editor/article-107/withdraw/", None),
        ("http://testserver/accounts/login/?next=/editor/", None),
        ("https://example.org/editor/", None),
        ("http://testserver//example.org/", None),
        ("http://testserver/\\example.org/", None),
        ("", None),
    ],
)
def test_who_is_turned_away_reads_which_right_is_missing_and_goes_back_to_a_page_of_ours(
    client: Client, referer: str, back: str | None
) -> None:
    client.force_login(person("view"))
    published()

    page = client.get("/editor/article-107/withdraw/", headers={"Referer": referer})
    many = client.post("/editor/bulk/", {"act": "publish"}, headers={"Accept-Language": "ru"})

    assert "this account has no right to withdraw. An administrator can" in text_of(page)
    assert "нет права публиковать" in text_of(many)
    assert ("Back to where you came from" in text_of(page)) == (back is not None)
    assert (back or "") in page.content.decode()
    assert 'href="//' not in page.content.decode()


def test_what_may_be_written_from_the_right_is(editor: Client) -> None:
    published(title="תורים", body="טקסט", tags=["עברית"])

    writing = editor.get("/editor/article-107/edit/").content.decode()
    reason = editor.get("/editor/article-107/withdraw/").content.decode()

    for name in ("title", "summary", "body", "tags"):
        assert re.search(rf'name="{name}"[^>]* dir="auto"', writing), name
    assert not re.search(r'name="language"[^>]* dir=', writing)
    assert re.search(r'name="reason"[^>]* dir="auto"', reason)


@pytest.mark.parametrize(
    ("missing", "request_"),
    [
        ("view", ("get", "/editor/")),
        ("view", ("get", "/editor/article-107/history/")),
        ("add", ("post", "/editor/new/")),
        ("change", ("post", "/editor/article-107/edit/")),
        ("publish", ("post", "/editor/article-107/publish/")),
        ("withdraw", ("post", "/editor/article-107/withdraw/")),
    ],
)
def test_each_act_has_a_right_of_its_own(
    client: Client, missing: str, request_: tuple[str, str]
) -> None:
    client.force_login(person(*(right for right in EVERYTHING if right != missing)))
    published()
    actions.edit("article-107", title="Another", actor="ada")
    method, path = request_

    response = getattr(client, method)(path, form(title="Taken over", material_id="x"))

    assert response.status_code == 403
    assert len(facts()) == 1
    assert Material.objects.count() == 1


def test_saving_does_not_publish_for_people_who_may_not_publish(client: Client) -> None:
    client.force_login(person("view", "add", "change"))

    page = client.get("/editor/new/").content.decode()
    client.post("/editor/new/", form(material_id="a", title="T", then="publish"))

    assert "then publish" not in page
    assert Material.objects.get().state == "draft"
    assert facts() == []


def test_people_see_only_the_acts_they_may_do(client: Client) -> None:
    client.force_login(person("view"))
    published("article-1")
    draft("article-2", title="Draft")

    for path in ("/editor/", "/editor/article-1/history/", "/editor/article-2/history/"):
        page = client.get(path).content.decode()
        for sign in ("/publish/", "/withdraw/", "/edit/", "/editor/new/"):
            assert sign not in page


def test_a_deactivated_account_is_out_at_once(client: Client) -> None:
    user = person(*EVERYTHING)
    client.force_login(user)
    user.is_active = False
    user.save()

    assert client.get("/editor/").status_code == 302


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/editor/new/", {"title": ""}),
        ("/editor/article-107/edit/", {"title": ""}),
        ("/editor/article-107/preview/", {"title": "T"}),
        ("/editor/bulk/", {"act": "publish", "material": "article-107"}),
    ],
)
def test_a_choice_of_language_on_an_answered_form_leads_back_to_the_form(
    editor: Client, path: str, fields: dict[str, str]
) -> None:
    draft()

    page = editor.post(path, fields).content.decode()

    assert f'<input type="hidden" name="next" value="{path}">' in page
    there = editor.get(path, follow=True)
    assert there.status_code == 200
    assert there.request["PATH_INFO"].startswith("/editor/")
