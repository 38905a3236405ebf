"""Sixteen questions, each with the one short note that answers it, to calibrate a model by.

They are written like a project's memory and share words with their notes as real
questions do; each note is a wrong answer to the other fifteen questions.
"""

from __future__ import annotations

from memcli.index.embedding import PassageInput


def _note(path: str, heading: str, text: str) -> PassageInput:
    return PassageInput(path, (heading,), text)


CALIBRATION_PAIRS: tuple[tuple[str, PassageInput], ...] = (
    (
        "How do we roll back a bad deployment?",
        _note(
            "runbooks/rollback.md",
            "Rolling back",
            "A bad deployment is reverted with `ship rollback`, which puts the previous version "
            "back in about six minutes. Database migrations are not undone.",
        ),
    ),
    (
        "Where is the password for the staging vault?",
        _note(
            "docs/secrets.md",
            "Credentials",
            "All credentials live in the vault under `staging/`. Ask the platform team for "
            "access; nothing secret may be committed.",
        ),
    ),
    (
        "Who carries the pager at night?",
        _note(
            "docs/on-call.md",
            "On call",
            "The rotation changes every Tuesday at ten. Whoever carries the pager answers alarms "
            "within fifteen minutes, at any hour.",
        ),
    ),
    (
        "Why does the test suite need so much memory?",
        _note(
            "docs/testing.md",
            "Performance of the suite",
            "The suite starts three containers. With less than 16 GB of memory they swap; run "
            "the unit part alone with `make quick`.",
        ),
    ),
    (
        "How should I write a commit message?",
        _note(
            "CONTRIBUTING.md",
            "Commits",
            "Write the subject in the imperative, at most 60 characters, and explain in the body "
            "why the change was needed.",
        ),
    ),
    (
        "How long are logs stored?",
        _note(
            "docs/observability.md",
            "Retention",
            "Application output is stored for thirty days in the cluster and for one year in "
            "cold storage, where searching takes minutes.",
        ),
    ),
    (
        "What happens when two writers edit at once?",
        _note(
            "decisions/0007-locking.md",
            "Concurrent edits",
            "We chose optimistic locking: the second writer gets a conflict and must reload, so "
            "nobody's work is silently overwritten.",
        ),
    ),
    (
        "Which browsers are tested?",
        _note(
            "docs/frontend.md",
            "Compatibility",
            "The last two versions of Firefox, Chrome, Safari and Edge are tested. Anything "
            "older gets the plain HTML page.",
        ),
    ),
    (
        "Who approves refunds above 500 euros?",
        _note(
            "docs/billing.md",
            "Refunds",
            "Refunds go back to the original card through the payment provider and need a second "
            "person's approval above 500 euros.",
        ),
    ),
    (
        "What do I do when the volume has no space left?",
        _note(
            "runbooks/storage.md",
            "No space left",
            "First delete old build artefacts in `/var/cache`; if the volume is still above 90 "
            "percent, enlarge it in the console and resize the file system.",
        ),
    ),
    (
        "May analytics events carry e-mail addresses?",
        _note(
            "policies/privacy.md",
            "Events",
            "Never send names, addresses or e-mail. Events carry only a random identifier that "
            "is replaced every ninety days.",
        ),
    ),
    (
        "How do I add a new locale?",
        _note(
            "docs/translation.md",
            "Adding a locale",
            "Copy `en.json`, translate the values, and register the locale in `i18n/index.ts`. "
            "Missing keys fall back to English.",
        ),
    ),
    (
        "Does the gateway renew certificates by itself?",
        _note(
            "docs/tls.md",
            "Renewal",
            "The gateway renews TLS certificates by itself every sixty days; an alarm fires when "
            "one has less than two weeks left.",
        ),
    ),
    (
        "How many calls a minute may an API key make?",
        _note(
            "docs/api.md",
            "Rate limiting",
            "Each key may make 100 calls a minute. Beyond that the server answers 429 with the "
            "number of seconds to wait.",
        ),
    ),
    (
        "Why did we migrate to PostgreSQL?",
        _note(
            "decisions/0003-postgres.md",
            "Decision",
            "Reports needed joins and transactions across collections, so all data was migrated "
            "to PostgreSQL in spring.",
        ),
    ),
    (
        "How do I start a single service with docker compose?",
        _note(
            "README.md",
            "Development",
            "Start a single component with `docker compose up NAME`; the others are replaced by "
            "stubs that answer with canned data.",
        ),
    ),
)
