"""What nearly everybody writes: one message, one transaction, by Django's ORM.

The naive loop and every peer call the same two handlers, on the product's own tables. It runs
in environments of other packages, so it knows nothing of the project. DATABASE_URL says where.
"""

import json
import os
import re
from urllib.parse import unquote, urlsplit

import django
from django.conf import settings


def configure(**further):
    """Django for these tables alone; `further` are settings of a peer."""
    settings.configure(
        DATABASES={"default": _database(os.environ["DATABASE_URL"])},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        SECRET_KEY="for a measurement alone",
        **{"INSTALLED_APPS": [], **further},
    )
    django.setup()


def handle_catalog(body):
    """Receipt and projection in one transaction, the row locked; the newest revision wins."""
    from django.db import transaction
    from django.utils.dateparse import parse_datetime
    from orm_models import CatalogEntry, on_postgresql

    event = json.loads(body)
    with transaction.atomic():
        if not _receipt(event, "catalog"):
            return
        entry = (
            CatalogEntry.objects.select_for_update().filter(material_id=event["materialId"]).first()
        )
        if entry is not None and entry.revision >= event["revision"]:
            return
        new = entry is None
        entry = entry or CatalogEntry(material_id=event["materialId"])
        entry.revision = event["revision"]
        entry.visible = True
        entry.title = event["data"]["title"]
        entry.summary = event["data"]["summary"]
        entry.body = event["data"]["body"]
        entry.published_at = parse_datetime(event["occurredAt"])
        entry.event_id = event["eventId"]
        if on_postgresql:
            entry.words = _words(event["data"])
        entry.save(force_insert=new)


def handle_audit(body):
    """Receipt and record in one transaction."""
    from django.db import transaction
    from django.utils.dateparse import parse_datetime
    from orm_models import AuditRecord

    event = json.loads(body)
    with transaction.atomic():
        if _receipt(event, "audit"):
            AuditRecord.objects.create(
                event_id=event["eventId"],
                type=event["type"],
                material_id=event["materialId"],
                revision=event["revision"],
                occurred_at=parse_datetime(event["occurredAt"]),
                actor=event.get("actor", ""),
                envelope=bytes(body).decode(),
            )


def _words(data):
    """What readers search for, as the product's consumer keeps it."""
    from django.db.models import Func, Value

    text = " ".join((data["title"], data["summary"], data["body"])).lower()
    words = Value(" ".join(sorted(set(re.findall(r"\w+", text)))))
    return Func(words, template="array_to_tsvector(string_to_array(%(expressions)s, ' '))")


def _receipt(event, consumer):
    from orm_models import InboxReceipt

    _, created = InboxReceipt.objects.get_or_create(
        consumer=consumer,
        event_id=event["eventId"],
        defaults={
            "type": event["type"],
            "material_id": event["materialId"],
            "revision": event["revision"],
            "outcome": "applied",
            "fingerprint": b"",
            "content_fingerprint": b"",
            "names_revision": True,
            "duplicates": 0,
        },
    )
    return created


def _database(url):
    if url.startswith("sqlite:"):
        # As the product opens it.
        init = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        options = {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": init}
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": url.removeprefix("sqlite:///"),
            "OPTIONS": options,
        }
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path[1:],
        "HOST": parts.hostname,
        "PORT": parts.port,
        "USER": parts.username,
        "PASSWORD": unquote(parts.password or ""),
        "CONN_MAX_AGE": None,
    }
