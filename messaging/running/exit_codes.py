"""What a command tells the shell when it ends; the same for every command."""

DONE, FAILED, MISUSED, MISCONFIGURED = 0, 1, 2, 3
