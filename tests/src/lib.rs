//! Whole turns over real logs, and the invariants of the tree: see `tests/`.
