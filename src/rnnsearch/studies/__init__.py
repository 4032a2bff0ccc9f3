"""Studies: a grid of variants and seeds, trained, translated, scored and compared, from one file and with one
command."""
