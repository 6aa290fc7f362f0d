"""The choices of a row, and the same row with its choices in another order, for formats whose rows are plain mappings.

``cells`` finds the cells that hold choices, ``answers`` the places that an answer names, and ``rows`` puts both
together and checks that prompt and target follow.
"""
