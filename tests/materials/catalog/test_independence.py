"""The catalog stands on its projection alone."""

import ast
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

import materials.audit
import materials.catalog
from tests.materials.catalog.facts import project, published, withdrawn


@pytest.mark.django_db
def test_with_the_source_tables_gone_the_catalog_still_answers(client: Client) -> None:
    project(published("a", title="Still here"), withdrawn("b"))
    with connection.cursor() as cursor:
        for model in reversed(list(apps.get_app_config("materials").get_models())):
            cursor.execute(
                f"DROP TABLE {model._meta.db_table}"
                + (" CASCADE" if connection.vendor == "postgresql" else "")
            )

    project(published("a", 2, title="Newer"))

    assert "Newer" in client.get("/").content.decode()
    assert "Newer" in client.get("/materials/a/").content.decode()
    assert client.get("/materials/b/").status_code == 410
    assert client.get("/api/materials/").json()["count"] == 1
    assert client.get("/api/materials/a/").json()["title"] == "Newer"


@pytest.mark.parametrize("package", [materials.catalog, materials.audit])
def test_a_projection_knows_the_events_alone(package: object) -> None:
    folder = Path(str(package.__file__)).parent  # type: ignore[attr-defined]
    own = f"materials.{folder.name}"

    imported = {
        name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        if name.split(".")[0] in ("materials", "catalogsite")
    }

    assert {name for name in imported if not f"{name}.".startswith(f"{own}.")} <= {
        "materials.events",
        "materials.row_documents",
        "materials.search_keys",
    }
