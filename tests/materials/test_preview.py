"""The preview while writing: the readers' own renderer, and nothing stored."""

import pytest
from django.test import Client

from materials.catalog import rendering
from materials.models import Material
from tests.materials.makers import draft, person
from tests.materials.test_editor_pages import EVERYTHING, form, text_of

pytestmark = pytest.mark.django_db

BODY = (
    "# Heading\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nA note[^1]\n\n[^1]: Below.\n<script>x</script>"
)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(person(*EVERYTHING))
    return client


def test_the_fragment_is_what_the_public_page_shows(editor: Client) -> None:
    draft()

    response = editor.post("/editor/article-107/preview/", form(title="T", body=BODY), headers=HTMX)

    page = response.content.decode()
    assert str(rendering.render(BODY)) in page
    assert "<html" not in page
    assert "<script>" not in page


def test_without_javascript_the_form_comes_back_with_the_preview_and_everything_typed(
    editor: Client,
) -> None:
    material = draft()

    response = editor.post(
        "/editor/article-107/preview/", form(material, title="", body="*typed*", tags="a\r\nb")
    )

    page = response.content.decode()
    assert response.status_code == 200
    assert "<em>typed</em>" in page
    assert f'name="version" value="{material.version}"' in page
    assert ">\n*typed*</textarea>" in page
    assert "data-unsaved" in page
    assert "Nothing was saved" not in page
    assert Material.objects.get().body == "Text."


def test_a_new_material_is_previewed_before_there_is_one(editor: Client) -> None:
    response = editor.post("/editor/preview/", form(material_id="a-b", title="T", body="**x**"))

    page = response.content.decode()
    assert "<strong>x</strong>" in page
    assert 'value="a-b"' in page
    assert 'action="/editor/new/"' in page
    assert not Material.objects.exists()


@pytest.mark.parametrize(
    "body", ["\x00", "x" * 300_000, "[" * 5_000, "я" * 200_000, "\ufffd", "- " * 2_000]
)
def test_whatever_is_typed_has_a_preview(editor: Client, body: str) -> None:
    response = editor.post("/editor/preview/", form(title=body, body=body), headers=HTMX)

    assert response.status_code == 200


def test_the_edit_page_asks_for_its_own_preview(editor: Client) -> None:
    draft()

    page = editor.get("/editor/article-107/edit/").content.decode()

    assert 'hx-post="/editor/article-107/preview/"' in page
    assert 'formaction="/editor/article-107/preview/"' in page
    assert 'data-limit="200000"' in page


def test_a_preview_needs_the_right_to_write(client: Client) -> None:
    draft()
    client.force_login(person("view"))

    assert client.post("/editor/preview/", form()).status_code == 403
    assert client.post("/editor/article-107/preview/", form()).status_code == 403
    assert client.get("/editor/article-107/preview/")["Location"] == "/editor/article-107/edit/"
    assert client.get("/editor/preview/")["Location"] == "/editor/new/"


def test_saving_can_lead_to_the_page_before_publishing(editor: Client) -> None:
    material = draft()

    response = editor.post(
        "/editor/article-107/edit/", form(material, title="New", then="confirm"), follow=True
    )

    assert response.redirect_chain == [("/editor/article-107/publish/", 302)]
    assert "Readers do not know it yet" in text_of(response)
    assert Material.objects.get().state == "draft"
