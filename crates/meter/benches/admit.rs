//! What the meter costs a request.

fn main() {}
