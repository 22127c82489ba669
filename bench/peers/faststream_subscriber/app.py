"""FastStream: a plain subscriber of a durable queue. `fill FILE` sends, `run` consumes."""

import asyncio
import os
import sys
from pathlib import Path

import orm_handler
from faststream import AckPolicy, FastStream
from faststream.rabbit import Channel, RabbitBroker, RabbitMessage, RabbitQueue

orm_handler.configure()
broker = RabbitBroker(
    os.environ["AMQP_URL"], default_channel=Channel(prefetch_count=100), log_level=10
)
queue = RabbitQueue(os.environ["PEER_QUEUE"], durable=True)


@broker.subscriber(queue, ack_policy=AckPolicy.NACK_ON_ERROR)
def handle(message: RabbitMessage):
    orm_handler.handle_catalog(message.body)


async def fill():
    await broker.connect()
    await broker.declare_queue(queue)
    for line in Path(sys.argv[2]).read_bytes().splitlines():
        await broker.publish(line, queue, persist=True)
    await broker.stop()


if __name__ == "__main__":
    asyncio.run(fill() if sys.argv[1] == "fill" else FastStream(broker).run())
