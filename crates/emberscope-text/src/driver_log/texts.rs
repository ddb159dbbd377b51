//! Texts that many tasks share, kept once.

use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Different texts that are kept whole, and as many again of which only the beginning is.
const MOST_TEXTS: usize = 20_000;

/// What stands for a text when there are too many.
const NOT_KEPT: &str = "not kept: the log has too many different texts";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Texts(FxHashSet<Arc<str>>);

impl Texts {
    /// The text, shared; of very many different ones what stands before the first colon, which names the kind.
    pub(super) fn kept(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let begun = match self.0.len() {
            ..MOST_TEXTS => text,
            _ => text.split(':').next().unwrap_or_default(),
        };
        if let Some(known) = self.0.get(begun) {
            return known.clone();
        }
        let kept: Arc<str> = if self.0.len() < 2 * MOST_TEXTS { begun.into() } else { NOT_KEPT.into() };
        self.0.insert(kept.clone());
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_texts_the_kind_is_kept() {
        let mut texts = Texts::default();
        let first = texts.kept("java.io.IOException: 0");
        for n in 1..50_000 {
            texts.kept(&format!("java.io.IOException: {n}"));
        }
        assert!(Arc::ptr_eq(&first, &texts.kept("java.io.IOException: 0")));
        assert_eq!(&*texts.kept("java.io.IOException: new"), "java.io.IOException");
        for n in 0..50_000 {
            texts.kept(&format!("host{n}"));
        }
        assert_eq!(&*texts.kept("another"), NOT_KEPT);
        assert_eq!(texts.0.len(), 2 * MOST_TEXTS + 1);
    }
}
