"""Where media are, in which formats they are opened, and what a model is shown of them."""
