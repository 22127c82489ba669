"""The session with RabbitMQ: what is declared, said and looked at. The one place with pika."""
