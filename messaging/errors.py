"""What can go wrong on the way of a fact, named for what the caller does next.

Four kinds (docs/guarantees.md): the message's fault (`PermanentError`), the moment's
(`TransientError`), the store's (`OutageError`), the configuration's
(`ConfigurationError`). The class name of a failure travels in the `reason` header.
"""


class DeliveryError(Exception):
    """Any failure that this project names."""


class PermanentError(DeliveryError):
    """The message can never work: it goes to the dead queue at once, attempt unchanged."""


class MalformedEvent(PermanentError):
    """The body is not an event of the contract."""


class UnsupportedEvent(PermanentError):
    """A well-formed event of a type or schemaVersion that is not known here."""


class InvalidAttempt(PermanentError):
    """The `attempt` header is not an integer from 0 to 3."""


class FactConflict(PermanentError):
    """Another fact already stands under this eventId, or under this material and revision."""


class TransientError(DeliveryError):
    """This message may work later: it waits in the consumer's retry queue, budget counted."""


class SimulatedTransientError(TransientError):
    """Raised on demand by SIMULATE_TEMPORARY, before any database change."""


class OutageError(DeliveryError):
    """The store or the disk is away: the process pauses and no message pays for it."""


class BrokerUnavailable(OutageError):
    """No session with the broker, or the session was lost: connect again with backoff."""


class ConfigurationError(DeliveryError):
    """Waiting cannot mend it: the command ends with exit 3 and one clear line."""
