"""Around the core, for research: scores, reports, studies, selection of data, word links of a
corpus, speed, Ray."""
