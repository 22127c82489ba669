"""What an event is made of: its fields, ids and times, strict JSON, and the schema of it all.

`messaging.envelope` is the door; nothing here knows a database or a broker.
"""
