"""kombu: its ConsumerMixin, prefetch 100. `fill FILE` sends, `run` consumes."""

import os
import sys
from pathlib import Path

import orm_handler
from kombu import Connection, Queue
from kombu.mixins import ConsumerMixin

orm_handler.configure()
queue = Queue(os.environ["PEER_QUEUE"], durable=True)


class Worker(ConsumerMixin):
    def __init__(self, connection):
        self.connection = connection

    def get_consumers(self, consumer, channel):
        return [consumer([queue], callbacks=[self.handle], prefetch_count=100)]

    def handle(self, body, message):
        orm_handler.handle_catalog(message.body)
        message.ack()


if __name__ == "__main__":
    with Connection(os.environ["AMQP_URL"]) as connection:
        if sys.argv[1] == "fill":
            producer = connection.Producer()
            for line in Path(sys.argv[2]).read_bytes().splitlines():
                producer.publish(
                    line,
                    routing_key=queue.name,
                    declare=[queue],
                    content_type="application/json",
                    content_encoding="utf-8",
                )
        else:
            Worker(connection).run()
