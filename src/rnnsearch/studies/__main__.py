"""`python -m rnnsearch.studies`: the process in which a study does one run. See `rnnsearch.studies.work`."""

import sys

from rnnsearch.studies.work import main

sys.exit(main())
