"""Files to lines and pairs of lines: compression, plain text, and the bilingual formats."""
