"""Every performance claim, as a ratio measured in one run."""
