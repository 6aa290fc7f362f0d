"""Where Polymeter differs from lm-eval 0.4.13 on purpose.

One record is one row of ``docs/differences.md``, which ``python -m scripts.differences`` makes from them.
"""

from polymeter.core.parity import Difference, DifferenceTable, Stays

DIFFERENCES = (
    DifferenceTable(
        "Scores",
        (
            Difference(
                rule="several targets",
                there="each metric but `exact_match` is 1 if its value for any target is not 0: F1 or ROUGE of 0.1 counts as 1",
                here="the best value of all targets; `bleu`, `chrf` and `ter` get all targets as references",
                why="a value between 0 and 1 was lost",
                switch="any-target",
            ),
            Difference(
                rule="a metric after `exact_match`, with several targets",
                there="it gets a list of copies of the answer in place of the answer",
                here="it gets the answer",
                why="a variable was overwritten, so the order of metrics changed numbers",
                switch="repeated-answers",
            ),
            Difference(
                rule="a target that is a list in some rows only",
                there="the first row decides: if it has a list, a text is taken apart into characters; if it has none, a list is compared as its Python text",
                here="each row by itself",
                why="numbers depended on the order of rows",
                switch="first-row-targets",
            ),
            Difference(
                rule="a row without a target, for generated answers",
                there='the answer is compared with the text `"None"`',
                here="a failed sample",
                why="whatever the model answers, it scored 0",
                switch="none-target",
            ),
            Difference(
                rule="a target that names no choice",
                there="every answer to the row is wrong; a negative number stays and is never right",
                here="a letter (`B`, `(b)`) that stands for a choice, or a text that is one but for outer white space; anything else is an error that shows the row",
                why="0 for every model is no measurement",
                switch="no-choice-target",
            ),
            Difference(
                rule="corpus metrics of samples with different numbers of references",
                there="every sample keeps as many references as the one that has the fewest",
                here="all references count",
                why="references were dropped silently",
                switch="fewest-references",
            ),
            Difference(
                rule="the median of an even number of values",
                there="the greater of the two in the middle",
                here="their mean",
                why="as the word is defined",
                switch="median-upper",
            ),
            Difference(
                rule="a value that is NaN",
                there="the mean is NaN",
                here="left out, as a sample without that value; the result says how many it rests on",
                why="NaN says that there is no value",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="standard errors",
                there="resampled for `median`, `nanmean`, `f1`, `matthews_corrcoef`, `perplexity`, `bleu`, `chrf`, `ter` (100,000 times, texts 100 times); none for other aggregations but the mean",
                here="see [uncertainty.md](uncertainty.md); files in lm-eval's form state its own",
                why="perplexity per word or byte and the Brier score have one, too, and an interval says more",
                switch="resampled-error",
            ),
            Difference(
                rule="`acc` on generated text",
                there="a pair of texts, of which no mean can be taken",
                here="equality with the target; an aggregation of the author's own gets the pairs",
                why="it means what it says",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="`f1`, `acc_norm` and others on generated text, with the mean of them",
                there="fails after all answers are there",
                here="refused before anything is asked",
                why="nothing should be paid for twice",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="a metric without `aggregation` that has no default",
                there="a `KeyError`",
                here="the mean",
                why="what values that no list names get as well",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="`bypass`",
                there="values are `None`, the result is 999",
                here="values are the answers, the result is 999",
                why="to see what was answered",
                switch=Stays.SAME,
            ),
            Difference(
                rule="`--predict_only`",
                there="every metric is replaced by `bypass`, whose result is 999",
                here="answers are stored, and no score",
                why="999 is no result",
                switch=Stays.FAILURE,
            ),
        ),
    ),
    DifferenceTable(
        "Filters",
        (
            Difference(
                rule="what a filter gets",
                there="the answers of all rows at once",
                here="those of one row, as soon as it has ended; one filter object serves the whole run",
                why="scores are written while a run goes on; a filter that compares rows would depend on which of them a run has",
                switch=Stays.UNSTABLE,
            ),
            Difference(
                rule="`regex`, `multi_choice_regex`: `group_select` beyond the matches of an answer",
                there="the run ends with an `IndexError`",
                here="`fallback`",
                why="an answer with fewer matches is an answer that does not match",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="a pattern that takes minutes on an answer",
                there="the run hangs",
                here="the sample is unscored after a time limit",
                why="one answer must not stop a run",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="`map` to something that is no text",
                there="the target is converted to that type, and what cannot be converted (to `None` above all) ends the run",
                here="such an answer is not equal to the target",
                why="an unknown answer is wrong",
                switch=Stays.CRASH,
            ),
        ),
    ),
    DifferenceTable(
        "Groups",
        (
            Difference(
                rule="a task that is below a group twice",
                there="counts twice",
                here="counts once",
                why="it was measured once",
                switch="group-task-twice",
            ),
            Difference(
                rule="the size of a task whose metrics have values for different numbers of samples",
                there="that of the metric with most values weighs all of them",
                here="the number of samples behind the metric itself",
                why="samples without a value have no weight",
                switch="group-sizes",
            ),
            Difference(
                rule="standard error of a weighted group",
                there="from the pooled variance of all samples, as if every task had the same",
                here="that of a weighted mean of independent means",
                why="tasks differ in difficulty, and so in variance",
                switch="pooled-group-error",
            ),
            Difference(
                rule="a function as `aggregation` of a group",
                there="accepted, never called: the number is the mean",
                here="refused",
                why="its author expects another number",
                switch=Stays.NAMING,
            ),
        ),
    ),
    DifferenceTable(
        "Prompts",
        (
            Difference(
                rule="examples from the measured rows, where the task names no split for them",
                there="the question may be among its own examples, with its answer",
                here="it is left out, as where the task names the split",
                why="the model was shown the answer",
                switch="fewshot-leak",
            ),
            Difference(
                rule="a temperature among the run's generation settings, for a task with `do_sample: false`",
                there="ignored: answers stay greedy",
                here="answers are sampled, unless the run sets `do_sample` too",
                why="whoever sets a temperature wants it",
                switch="temperature-alone",
            ),
            Difference(
                rule="stop strings in visible reasoning (`<think>…</think>`)",
                there="the answer ends at the first one, wherever it is",
                here="reasoning is set apart first, and the answer behind it is cut",
                why="a blank line in the reasoning left no answer",
                switch="stop-in-reasoning",
            ),
            Difference(
                rule="functions that draw at random (`process_docs`, `doc_to_text`)",
                there="`process_docs` runs on every access, with what all tasks before have drawn; later runs take its rows from a cache on disk",
                here="`process_docs` runs once for each split, straight after seeding, which gives the rows of a run of this task alone; other functions are seeded for each sample",
                why="a row depended on what else the run, or an earlier one on that machine, had done",
                switch=Stays.UNSTABLE,
            ),
            Difference(
                rule="repeats of a log-likelihood",
                there="the same request several times",
                here="asked once, counted as often as it is repeated",
                why="a model gives the same every time",
                switch=Stays.SAME,
            ),
        ),
    ),
    DifferenceTable(
        "Files",
        (
            Difference(
                rule="a file that is included by two others",
                there="refused as a circle, and the task is missing without a word",
                here="read; a true circle is an error with its files",
                why="nothing is wrong with it",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="a group's member `{task: NAME, …}` that names a group or a tag",
                there="a group ends in endless recursion; of a tag all tasks but the last are lost",
                here="the overrides apply to all tasks of the group or tag",
                why="a bug",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="`include` in a task that is written inside a group",
                there="refused as an unknown field",
                here="the file is included, beside the group's own",
                why="it is what its author wrote",
                switch=Stays.CRASH,
            ),
            Difference(
                rule="a member of a group that does not exist",
                there="taken for a task without data, so that the whole group fails, or skipped with a warning",
                here="an error with the nearest names",
                why="a misspelt name must not change what is measured",
                switch=Stays.NAMING,
            ),
            Difference(
                rule="rows chosen by number, out of order",
                there="the right rows under wrong numbers",
                here="each row under its own number",
                why="a bug",
                switch=Stays.NAMING,
            ),
        ),
    ),
)
