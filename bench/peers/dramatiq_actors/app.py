"""Dramatiq: an actor on its own queue. `fill FILE` sends the events."""

import os
import sys
from pathlib import Path

import dramatiq
import orm_handler
from dramatiq.brokers.rabbitmq import RabbitmqBroker

orm_handler.configure()
broker = RabbitmqBroker(url=os.environ["AMQP_URL"])
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=os.environ["PEER_QUEUE"])
def handle(text):
    orm_handler.handle_catalog(text)


if __name__ == "__main__":
    for line in Path(sys.argv[2]).read_text().splitlines():
        handle.send(line)
