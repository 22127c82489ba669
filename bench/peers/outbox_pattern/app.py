"""django-outbox-pattern: `migrate`, `fill FILE`, `publish` (its own command)."""

import json
import os
import sys
from pathlib import Path

import orm_handler

orm_handler.configure(
    INSTALLED_APPS=["django_outbox_pattern"],
    DJANGO_OUTBOX_PATTERN={
        "DEFAULT_STOMP_HOST_AND_PORTS": [("127.0.0.1", int(os.environ["STOMP_PORT"]))]
    },
)


def fill(path):
    from django_outbox_pattern.models import Published

    Published.objects.bulk_create(
        Published(
            destination=f"/exchange/{os.environ['DELIVERY_NAMESPACE']}.events/material.published",
            body=json.loads(line),
            # Without it the broker keeps the message in memory alone.
            headers={"persistent": "true"},
        )
        for line in Path(path).read_text().splitlines()
    )


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(sys.argv[2])
    else:
        from django.core.management import call_command

        call_command(sys.argv[1], *sys.argv[2:])
