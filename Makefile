# The two commands of the README are `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := .demo

.PHONY: demo test lint types check completions clean

demo: $(VENV)/.installed
	@rm -rf $(DEMO) && mkdir -p $(DEMO) && cp -R sample_projects/harbor $(DEMO)/harbor
	@echo '$$ memcli index build'
	@MEMCLI_HOME=$(DEMO)/home MEMCLI_CONFIG=$(DEMO)/config $(BIN)/memcli -C $(DEMO)/harbor index build
	@echo '$$ memcli activate "how do we roll back a bad deploy?"'
	@MEMCLI_HOME=$(DEMO)/home MEMCLI_CONFIG=$(DEMO)/config $(BIN)/memcli -C $(DEMO)/harbor activate "how do we roll back a bad deploy?"
	@echo
	@echo 'Ask it more, with the history in $(DEMO)/home:'
	@echo '  export MEMCLI_HOME=$(DEMO)/home MEMCLI_CONFIG=$(DEMO)/config MEMCLI_PROJECT=$(DEMO)/harbor PATH="$$PWD/$(BIN):$$PATH"'
	@echo '  memcli runs show last'

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: lint types test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The first install compiles llama.cpp, which takes some minutes.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo 'Installing memcli; the first time llama.cpp is compiled, which takes some minutes.'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo 'Installing memcli and its checks; the first time llama.cpp is compiled.'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed

completions: $(VENV)/.installed
	$(BIN)/memcli completion bash > completions/memcli.bash
	$(BIN)/memcli completion zsh > completions/_memcli
	$(BIN)/memcli completion fish > completions/memcli.fish
	$(BIN)/memcli completion powershell > completions/memcli.ps1

clean:
	rm -rf $(VENV) $(DEMO) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
