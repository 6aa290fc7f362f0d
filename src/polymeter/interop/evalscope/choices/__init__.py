"""Orders of the choices of EvalScope's benchmarks. Their prompts are made before a run begins, so the list of choices
is found in each prompt and written in another order; the reference moves with it.
"""
