//! What a store rings when accounts or keys have changed.

use std::fmt;

/// What a store rings when something has changed.
pub struct Bell(Box<dyn Fn() + Send + Sync>);

impl Bell {
    /// A bell that does this whenever it is rung, from any thread; it must not block.
    pub fn new(on_ring: impl Fn() + Send + Sync + 'static) -> Bell {
        Bell(Box::new(on_ring))
    }

    /// Rings it.
    pub fn ring(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}
