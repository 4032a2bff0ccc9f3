"""The paper's Section 5 for any runs, test sets and other systems: one page, its Markdown twin, and the
numbers behind them."""
