//! node.
