"""One process of `bench.dead_letters`: fills a database, or asks for the operators' pages.

`python -m bench.letter_pages fill COUNT` or `ask ROUNDS COUNT`, which prints JSON: of each page
the seconds of every answer, its number of queries, and the rows or groups it showed.
"""

import json
import sys
import time

import django

LIST = "/admin/messaging/deadletter/"


def main() -> None:
    django.setup()
    verb, *numbers = sys.argv[1:]
    if verb == "fill":
        from bench.letter_stock import fill

        fill(int(numbers[0]))
    else:
        print(json.dumps(ask(int(numbers[0]), letters=int(numbers[1]))))


def pages(letters: int) -> dict[str, str]:
    """What is asked for."""
    from bench.letter_stock import event_id

    return {
        "open letters": LIST,
        "all states": f"{LIST}?state=all",
        "by consumer and failure": f"{LIST}?consumer=audit&reason=KeyError",
        "by state and days": f"{LIST}?state=discarded&since=2020-01-01",
        "page 100": f"{LIST}?p=100",
        "the last page": f"{LIST}?state=all&p=200",
        "an event's id": f"{LIST}?state=all&q={event_id(letters // 2)}",
        "a material's id": f"{LIST}?state=all&q=article-{letters // 20}",
        "a common word": f"{LIST}?q=forgive",
        "a word of one error in 1 000": f"{LIST}?q=answer+seldom",
        "a word of one body in 1 000": f"{LIST}?state=all&q=seldom",
        "a word of one body in 100 000": f"{LIST}?state=all&q=unheard",
        "a word that nobody says": f"{LIST}?state=all&q=neverwhere",
        "open, by failure": f"{LIST}failures/",
        "all, by failure": f"{LIST}failures/?state=all",
        "one letter": f"{LIST}{letters // 2}/change/",
        "the queues": "/admin/messaging/pause/",
        "before a requeue of all": f"{LIST}requeue/?all=1",
    }


def ask(rounds: int, *, letters: int) -> dict[str, dict[str, object]]:
    """Each page in turn, after one warm-up."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    user, _new = User.objects.get_or_create(
        username="bench", defaults={"is_superuser": True, "is_staff": True}
    )
    client.force_login(user)
    found: dict[str, dict[str, object]] = {}
    for name, url in pages(letters).items():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answer = client.get(url)
        slowest = max(queries.captured_queries, key=lambda query: float(query["time"]))
        number = len(queries)
        assert answer.status_code == 200, (name, answer.status_code)
        seconds: list[float] = []
        cpu: list[float] = []
        for _ in range(rounds):
            began, cpu_began = time.perf_counter(), time.process_time()
            client.get(url)
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - cpu_began)
        found[name] = {
            "seconds": seconds,
            "cpu": cpu,
            "queries": number,
            "rows": answer.content.count(b"<tr"),
            "slowest": slowest,
        }
    return found


if __name__ == "__main__":
    main()
