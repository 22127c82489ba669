"""One process of `bench.pages`: fills a database, or counts the queries of each page.

`python -m bench.page_visits fill COUNT`; `sign-in` prints JSON, the cookies of somebody who may do
all that editors do and of somebody who may see all of the admin; `queries COUNT` prints JSON, the
number of queries by page.
"""

import json
import sys

import django


def main() -> None:
    django.setup()
    verb, *numbers = sys.argv[1:]
    if verb == "fill":
        from bench.stock import fill

        fill(int(numbers[0]))
    elif verb == "sign-in":
        print(json.dumps(_sign_in()))
    else:
        print(json.dumps(_queries(int(numbers[0]))))


def visits(materials: int) -> dict[str, list[str]]:
    """The addresses of each page, asked in turn; editors' and admin's by somebody signed in."""
    from bench.stock import author, material_id, tag, vocabulary

    words = vocabulary()
    common, usual, rare = words[:20], words[100:140], words[4000:4040]
    some = [material_id(number) for number in range(0, materials, max(1, materials // 40))]
    return {
        "catalog": ["/"],
        "catalog, deep": [f"/?page={number}" for number in range(100, 501, 10)],
        "catalog, common word": [f"/?q={word}" for word in common],
        "catalog, usual word": [f"/?q={word}" for word in usual],
        "catalog, rare word": [f"/?q={word}" for word in rare],
        "catalog, two words": [f"/?q={a}+{b}" for a, b in zip(usual, common * 2, strict=True)],
        "catalog, unknown word": [f"/?q=unknown{number}" for number in range(40)],
        "catalog, tag": [f"/?tag={tag(number)}".replace(" ", "+") for number in range(0, 300, 8)],
        "catalog, language": [f"/?lang={name}" for name in ("fr", "de", "zz", "ru")],
        "a material": [f"/materials/{name}/" for name in some],
        "API": ["/api/materials/"],
        "API, usual word": [f"/api/materials/?q={word}" for word in usual],
        "API, rare word": [f"/api/materials/?q={word}" for word in rare],
        "tags": ["/tags/"],
        "languages": ["/languages/"],
        "editor": ["/editor/"],
        "editor, deep": [f"/editor/?page={number}" for number in range(10, 51, 5)],
        **{
            f"editor, {name}": [f"/editor/?state={name}"]
            for name in ("draft", "published", "changed", "withdrawn", "scheduled")
        },
        **{
            f"editor, {name}": [f"/editor/?delivery={name}"]
            for name in ("waiting", "sent", "arrived", "trouble")
        },
        "editor, tag": [
            f"/editor/?tag={tag(number)}".replace(" ", "+") for number in range(0, 300, 8)
        ],
        "editor, language": [f"/editor/?language={name}" for name in ("fr", "de", "zz", "ru")],
        "editor, author": [f"/editor/?author={author(number)}" for number in range(40)],
        "editor, common word": [f"/editor/?q={word}" for word in common],
        "editor, usual word": [f"/editor/?q={word}" for word in usual],
        "editor, rare word": [f"/editor/?q={word}" for word in rare],
        "editor, an id": [f"/editor/?q={name}" for name in some],
        "editor, by title": ["/editor/?sort=title", "/editor/?sort=title&page=45"],
        "editor, by id": ["/editor/?sort=id", "/editor/?sort=id&page=45"],
        "editor, oldest": ["/editor/?sort=oldest", "/editor/?sort=oldest&page=45"],
        "editor, all at once": [
            f"/editor/?q={word}&state=published&delivery=arrived&language=en&sort=title"
            for word in usual
        ],
        **{
            f"admin, {name}": [f"/admin/{address}" for address in addresses]
            for name, addresses in _admin_lists(some).items()
        },
    }


def _admin_lists(some: list[str]) -> dict[str, list[str]]:
    from uuid import UUID

    events = [UUID(int=number) for number in range(20)]
    outbox, inbox = "messaging/outboxmessage/", "messaging/inboxreceipt/"
    attempts, audit = "messaging/failedattempt/", "audit/auditrecord/"
    catalog, material, revision = (
        "catalog/catalogentry/",
        "materials/material/",
        "materials/revision/",
    )
    return {
        "outbox": [outbox, f"{outbox}?p=200"],
        "outbox, state": [
            f"{outbox}?state__exact={state}" for state in ("pending", "failed", "sent")
        ],
        "outbox, filters": [f"{outbox}?type=material.withdrawn", f"{outbox}?consumer=catalog"],
        "inbox": [inbox, f"{inbox}?p=200"],
        "inbox, filters": [f"{inbox}?outcome__exact=stale", f"{inbox}?consumer=audit"],
        "failed attempts": [attempts, f"{attempts}?kind=permanent"],
        "audit": [audit, f"{audit}?p=200"],
        "catalog": [catalog, f"{catalog}?p=200", f"{catalog}?visible__exact=0"],
        "materials": [material, f"{material}?p=200", f"{material}?state__exact=withdrawn"],
        "revisions": [revision, f"{revision}?p=200", f"{revision}?kind__exact=withdrawn"],
        "an id": [
            f"{page}?q={name}"
            for page in (outbox, inbox, attempts, audit, catalog, material, revision)
            for name in some[:6]
        ],
        "an event's id": [
            f"{page}?q={event}"
            for page in (outbox, inbox, attempts, audit, revision)
            for event in events
        ],
        "queues": ["messaging/pause/"],
    }


def _sign_in() -> dict[str, str]:
    from django.contrib.auth.models import Group, User
    from django.test import Client

    editor, _ = User.objects.get_or_create(username="editor")
    editor.groups.set(Group.objects.filter(name="Editors"))
    operator, _ = User.objects.get_or_create(
        username="operator", defaults={"is_staff": True, "is_superuser": True}
    )
    cookies = {}
    for place, user in (("/editor/", editor), ("/admin/", operator)):
        client = Client()
        client.force_login(user)
        cookies[place] = f"sessionid={client.cookies['sessionid'].value}"
    return cookies


def _queries(materials: int) -> dict[str, int]:
    from django.contrib.auth.models import User
    from django.core.cache import cache
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost"})
    signed_in = {"editor": "editor", "admin": "operator"}
    found = {}
    for name, addresses in visits(materials).items():
        if username := signed_in.get(name.partition(",")[0]):
            client.force_login(User.objects.get(username=username))
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            client.get(addresses[0])
        found[name] = len(captured)
    return found


if __name__ == "__main__":
    main()
