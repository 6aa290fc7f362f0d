"""Contents of task files, read without running their code: names, groups, fields, and problems."""
