//! What the pursuit promises.
