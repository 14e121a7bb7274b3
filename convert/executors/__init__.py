"""One module for each way to run tasks; each exports EXECUTOR."""
