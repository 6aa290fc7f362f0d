"""This machine: its files and folders, environment, terminal and GPUs."""
