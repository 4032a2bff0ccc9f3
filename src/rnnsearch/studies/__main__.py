"""`python -m rnnsearch.studies`: the process in which a study does one run. See `rnnsearch.studies.job`."""

import sys

from rnnsearch.studies.job import main

sys.exit(main())
