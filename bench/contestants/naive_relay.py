"""The usual loop: one transaction a row, the row locked, one confirm waited for, one save."""

import os
from collections.abc import Callable

import django
import pika

from bench.timed import Done


def prepare(*, exchange: str, until: int | None = None) -> Callable[[], Done]:
    django.setup()
    from django.db import connection, transaction
    from django.utils import timezone

    from messaging.models import OutboxMessage

    connection.ensure_connection()

    def work() -> Done:
        broker = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
        channel = broker.channel()
        channel.confirm_delivery()
        done = 0
        while until is None or done < until:
            with transaction.atomic():
                pending = OutboxMessage.objects.filter(state=OutboxMessage.State.PENDING)
                row = pending.select_for_update(skip_locked=True).order_by("id").first()
                if row is None:
                    break
                channel.basic_publish(
                    exchange,
                    row.type,
                    bytes(row.body),
                    pika.BasicProperties(
                        content_type="application/json",
                        delivery_mode=2,
                        message_id=str(row.event_id),
                        type=row.type,
                        headers={"attempt": 0},
                    ),
                    mandatory=True,
                )
                row.state = OutboxMessage.State.SENT
                row.sent_at = timezone.now()
                row.save(update_fields=["state", "sent_at"])
                done += 1
        broker.close()
        return Done(done)

    return work
