"""What task files say, found without running their code: names, groups, fields, and what is wrong with them."""
