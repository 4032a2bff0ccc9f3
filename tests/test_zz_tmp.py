from rnnsearch import Translator
def test_x(tiny_run, other_tiny_run, tiny_subword_run, tiny_unknown_run, tiny_corpus):
    lines=(tiny_corpus/"test.en").read_text().split("\n")[:8]
    for r in (tiny_run, other_tiny_run, tiny_subword_run, tiny_unknown_run):
        for x in Translator.load(r).translate(lines, min_length_ratio=0.7,max_length_ratio=1): print(repr(x.text[:90]), x.score, len(x.tokens), x.links()[:5])
