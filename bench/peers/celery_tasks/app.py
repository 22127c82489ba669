"""Celery as documented for tasks that must not be lost: acks_late. `fill FILE` sends the events.

With DB_REUSE=1 the database connection is kept between tasks.
"""

import os
import sys
from pathlib import Path

import orm_handler
from celery import Celery

orm_handler.configure()
app = Celery("peer", broker=os.environ["AMQP_URL"], set_as_current=True)
app.conf.task_default_queue = os.environ["PEER_QUEUE"]
app.conf.worker_prefetch_multiplier = int(os.environ.get("PREFETCH", "1"))
app.conf.worker_enable_remote_control = False
if os.environ.get("DB_REUSE"):
    app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000


@app.task(name="handle", acks_late=True, ignore_result=True)
def handle(text):
    orm_handler.handle_catalog(text)


if __name__ == "__main__":
    for line in Path(sys.argv[2]).read_text().splitlines():
        handle.apply_async((line,))
