"""Makes the database ready while the broker boots: migrations, then the accounts.

`python -m dev.prepare FILE` prints the accounts as JSON (see dev.accounts; none without DEBUG).
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from catalogsite.start import read_settings
from dev.accounts import make_accounts


def main() -> None:
    read_settings(serves_pages=False)
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    accounts = make_accounts(Path(sys.argv[1])) if settings.DEBUG else []
    print(json.dumps([asdict(account) for account in accounts]))


if __name__ == "__main__":
    main()
