"""Questions with open answers: exact match and its relatives, yes and no, and grading by a judge."""
