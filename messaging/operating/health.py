"""What a probe learns: `/healthz`, the process lives; `/readyz`, it can do its work.

The pages need their database, with its tables, and nothing else: editors publish into the
outbox and readers read the projection while the broker is away. So the broker's state is told
and does not make the site unready.
"""

from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse

from messaging.broker.inspection import inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.running.time_limits import Overdue, SharedQuestion

DATABASE_LIMIT_SECONDS = 1.5
BROKER_LIMIT_SECONDS = 0.4
BROKER_ANSWER_FRESH_SECONDS = 10.0


def answer_probes(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """The first middleware: a probe comes without session, by any host name, over plain HTTP."""

    def respond(request: HttpRequest) -> HttpResponse:
        probe = _PROBES.get(request.path_info)
        if probe is None:
            return get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response = probe()
        response["Cache-Control"] = "no-store"
        return response

    return respond


def tell_alive() -> HttpResponse:
    """200, touching nothing."""
    return JsonResponse({"status": "ok"})


def tell_ready() -> HttpResponse:
    """200, or 503 with what is missing, within two seconds in any case."""
    missing = _missing()
    return JsonResponse(
        {
            "status": "not ready" if missing else "ready",
            "missing": missing,
            "broker": "reachable" if _broker_answers() else "unreachable",
        },
        status=503 if missing else 200,
    )


_PROBES = {"/healthz": tell_alive, "/readyz": tell_ready}


def _missing() -> list[str]:
    try:
        return _database_question.answer()
    except Exception:  # noqa: BLE001 - whatever it was, its text is not for strangers
        return ["database"]


def _broker_answers() -> bool:
    try:
        return _broker_question.answer()
    except (Overdue, DeliveryError):
        return False


def _look_at_database() -> list[str]:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    applied = MigrationRecorder(connection).applied_migrations().keys()
    return [] if _newest_migrations() <= applied else ["migrations"]


def _newest_migrations() -> set[tuple[str, str]]:
    if not _newest:
        loader = MigrationLoader(None, ignore_no_migrations=True)
        _newest.update(loader.graph.leaf_nodes())
    return _newest


def _look_at_broker() -> bool:
    inspect_queues(settings.AMQP, topology().queue_names()[:1], timeout_seconds=2.0)
    return True


_newest: set[tuple[str, str]] = set()
_database_question = SharedQuestion(_look_at_database, limit_seconds=DATABASE_LIMIT_SECONDS)
_broker_question = SharedQuestion(
    _look_at_broker,
    limit_seconds=BROKER_LIMIT_SECONDS,
    fresh_seconds=BROKER_ANSWER_FRESH_SECONDS,
)
