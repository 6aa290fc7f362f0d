"""Media: their places, the formats in which they are opened, and the form in which a model is shown them."""
