"""One act for each id of a command line, each in a transaction of its own."""

from collections.abc import Callable, Sequence
from functools import partial

from django.core.management.base import BaseCommand, CommandError

from materials.management.ending import database_faults_told, stop_signals
from materials.models import Revision
from materials.patience import patiently
from materials.refusals import ActionRefused
from messaging.running.exit_codes import FAILED


def act_on_each(
    command: BaseCommand, ids: Sequence[str], act: Callable[[str], Revision], *, done: str
) -> None:
    """Report each id: what is done on standard output, what is refused on standard error.

    A refusal does not stop the rest. Raises CommandError (exit 1) where there was one.
    """
    refused = 0
    with stop_signals() as stopping, database_faults_told():
        for material_id in ids:
            try:
                revision = patiently(partial(act, material_id))
            except ActionRefused as refusal:
                refused += 1
                command.stderr.write(f"{ascii(material_id)[1:-1]}: {refusal}")
            else:
                command.stdout.write(f"{material_id}: {done} as revision {revision.number}.")
            if stopping():
                command.stderr.write("Stopped on request; the ids so far are done.")
                break
    if refused:
        raise CommandError(f"{refused} of {len(ids)} refused.", returncode=FAILED)
