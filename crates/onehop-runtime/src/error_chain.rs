//! Error chain: an error with its causes on one line.

use std::error::Error;

/// An error with its causes. A cause that the text names already is left out, since many errors repeat their
/// cause in their own text.
#[must_use]
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("cannot listen on 127.0.0.1:80: {0}")]
        Repeats(#[source] io::Error),
        #[error("cannot listen on 127.0.0.1:80")]
        Leaves(#[source] io::Error),
    }

    #[test]
    fn each_cause_is_named_once() {
        let denied = || io::Error::other("permission denied");
        for failure in [Failure::Repeats(denied()), Failure::Leaves(denied())] {
            assert_eq!(one_line(&failure), "cannot listen on 127.0.0.1:80: permission denied");
        }
    }
}
