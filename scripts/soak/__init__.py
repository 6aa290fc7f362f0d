"""Kill runs at random instants, resume them to their end, and compare what they leave with an unbroken run.

Every format and every kind of model takes part; ``kinds.py`` names them. A life is a run that is killed one to three
times, by SIGKILL or SIGTERM, and then resumed to its end. Afterwards ``polymeter verify`` finds nothing, results and
samples are those of the unbroken run, byte for byte apart from latencies, and no request was sent again but those that
were in flight at a kill: sent, and without an answer in the journal. The one small request with which each start asks
whether an endpoint is there does not count.

Which signals end a life, and at which parts of its duration, follows from the seed, the kind and the number of the
life, whatever other kinds take part.

    make soak                                                     200 kills
    python -m scripts.soak --n 20 --seed 1 --kinds hf diffusers   fewer, with another seed, of some kinds
"""
