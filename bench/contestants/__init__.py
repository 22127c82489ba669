"""What is measured, each in a process of its own: `bench.timed` calls its `prepare`."""
