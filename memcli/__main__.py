"""``python -m memcli``."""

import sys

from memcli.cli.main import main

sys.exit(main())
