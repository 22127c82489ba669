"""The usual loop: one message, one transaction by the ORM, one ack (`peers/orm_handler.py`)."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import pika

from bench.stage import PROJECT
from bench.timed import Done


def prepare(*, consumer: str, queue: str, until: int) -> Callable[[], Done]:
    sys.path.insert(0, str(PROJECT / "bench" / "peers"))
    orm_handler = importlib.import_module("orm_handler")
    orm_handler.configure()
    from django.db import connection

    connection.ensure_connection()
    handle = getattr(orm_handler, f"handle_{consumer}")

    def work() -> Done:
        parameters: Any = pika.URLParameters(os.environ["AMQP_URL"])
        broker = pika.BlockingConnection(parameters)
        channel = broker.channel()
        channel.basic_qos(prefetch_count=100)
        done = 0
        for method, _, body in channel.consume(queue):
            handle(body)
            channel.basic_ack(method.delivery_tag)
            done += 1
            if done == until:
                break
        broker.close()
        return Done(done)

    return work
