"""Schemathesis asks the API what its own description allows and forbids; nothing surprises it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings

from tests.materials.catalog.facts import project_batch, published, withdrawn

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

# The same ones every time, and not many: `make test` is no place for luck.
EXAMPLES = settings(
    max_examples=20,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def api() -> Iterator[Any]:
    """The API as it describes itself, over a few materials."""
    # Takes a second, and no other test wants it.
    import schemathesis

    project_batch([*(published(f"m{n}", tags=["x"]) for n in range(5)), withdrawn("a")])
    signals = (request_started, request_finished)
    for signal in signals:
        # As Django's own test client: the connection holds the test's transaction.
        signal.disconnect(close_old_connections)
    yield schemathesis.openapi.from_wsgi("/api/openapi.json", WSGIHandler())
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
@pytest.mark.parametrize("path", ["/api/materials/", "/api/materials/{materialId}/"])
def test_schemathesis_finds_nothing(api: Any, path: str, mode: str) -> None:
    from schemathesis import GenerationMode

    requests = api[path]["GET"].as_strategy(generation_mode=GenerationMode[mode])

    @EXAMPLES
    @given(requests)
    def answers_as_described(case: Any) -> None:
        case.call_and_validate()

    answers_as_described()
