"""The commands: name, module and one line each; help is printed from it, modules load when run."""

# No imports: ``memcli --help`` reads this and must cost what a bare interpreter costs.


class Command:
    """``words`` as typed; ``module`` below ``memcli.cli.commands`` holds a function ``command``."""

    __slots__ = ("module", "summary", "words")

    def __init__(self, words: tuple[str, ...], module: str, summary: str) -> None:
        self.words = words
        self.module = module
        self.summary = summary


COMMANDS = (
    Command(("init",), "init", "Show what memory is here and write a commented memcli.toml."),
    Command(
        ("index", "build"), "index_build", "Index the project's memory and move the head to it."
    ),
    Command(("index", "list"), "index_list", "List the revisions of the index."),
    Command(("index", "keep"), "index_keep", "Keep a revision from being pruned."),
    Command(("head", "show"), "head_show", "Show the revision that queries use."),
    Command(("head", "swap"), "head_swap", "Move the head to another ready revision."),
    Command(("activate",), "activate", "Answer a query with the few fragments that matter."),
    Command(("why",), "why", "Tell the whole story of one note for one query."),
    Command(("status",), "status", "Show project, sources, index, head and models."),
    Command(
        ("memory", "list"), "memory_list", "List Effective Memory and what was left out of it."
    ),
    Command(("memory", "show"), "memory_show", "Show one note as it is indexed."),
    Command(("runs", "list"), "runs_list", "List Retrieval Runs, newest first."),
    Command(("runs", "show"), "runs_show", "Show one Run: what was searched, ranked, returned."),
    Command(("runs", "diff"), "runs_diff", "Compare two Runs."),
    Command(("runs", "pin"), "runs_pin", "Keep a Run from retention and clear."),
    Command(("runs", "unpin"), "runs_unpin", "Let retention and clear have a Run again."),
    Command(("runs", "delete"), "runs_delete", "Delete one Run for good."),
    Command(("case", "create"), "case_create", "Make the Evaluation Case of a Run."),
    Command(("case", "list"), "case_list", "List Evaluation Cases, oldest first."),
    Command(("case", "show"), "case_show", "Show one Case: evidence, candidates, frozen corpus."),
    Command(("case", "resolve"), "case_resolve", "Say which evidence answers a Case."),
    Command(("case", "next"), "case_next", "Resolve the oldest Case that nobody resolved yet."),
    Command(("case", "delete"), "case_delete", "Delete a Case with its evidence for good."),
    Command(("report",), "report", "Score the recorded answers against confirmed evidence."),
    Command(("rerun",), "rerun", "Ask the frozen questions again under the present models."),
    Command(("gate",), "gate", "Exit 4 where confirmed questions are answered worse than allowed."),
    Command(("export",), "export", "Write the ready Cases to files that stand alone."),
    Command(("models", "list"), "models_list", "List the models: built in, yours, pullable."),
    Command(("models", "add"), "models_add", "Add a GGUF file that has shown it does the job."),
    Command(("models", "use"), "models_use", "Use a model from now on."),
    Command(("models", "pull"), "models_pull", "Download a well-known model and check it."),
    Command(("models", "verify"), "models_verify", "Prove installed models again."),
    Command(("clear",), "clear", "Delete unpinned Runs and the bodies that nothing needs."),
    Command(("forget",), "forget", "Delete a project's whole history."),
    Command(("config", "show"), "config_show", "Show every setting and where it comes from."),
    Command(("doctor",), "doctor", "Check everything that memcli stands on, and how to repair it."),
    Command(("completion",), "completion", "Print the completion file for a shell."),
)

GROUPS = {
    "index": "Build and list index revisions.",
    "head": "The revision that queries use.",
    "memory": "What the project's memory holds.",
    "runs": "The traces of past answers.",
    "config": "Settings.",
    "models": "Embedders and rerankers: what is here, what can be had.",
    "case": "Past questions with the evidence that a person confirmed.",
}


def find(words: tuple[str, ...]) -> "Command | None":
    """The command that ``words`` begin with."""
    return next((each for each in COMMANDS if words[: len(each.words)] == each.words), None)


def in_group(group: str) -> tuple[Command, ...]:
    """The commands below one group word."""
    return tuple(each for each in COMMANDS if each.words[0] == group and len(each.words) > 1)
