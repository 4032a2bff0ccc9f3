"""The paper's equations in plain Python: one sentence at a time, float64, every sum a loop. Slow, and easy to
hold against the paper."""
