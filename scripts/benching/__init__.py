"""The bench: which format trains fastest here, on the user's pictures and machine, and what it costs."""
