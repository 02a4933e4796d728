//! Hostile variables.

use onehop_graphql_server::json_size::{VARIABLES_BYTES_MAX, VariableLimits};

use crate::hostile::endpoint::{answer, endpoint, post};
use crate::hostile::shapes::{VARIABLES, largest};
use onehop_testing::allocations::peak_bytes;

/// The memory limit of refusing them, with their body.
const REFUSAL_BYTES_MAX: usize = 10 * 1024 * 1024;

/// A request with these variables, and the same as extensions.
fn bodies(variables: &str) -> [String; 2] {
    ["variables", "extensions"]
        .map(|name| format!("{{\"query\":\"{{viewer{{id}}}}\",\"{name}\":{variables}}}"))
}

#[tokio::test]
async fn no_variables_take_more_than_10_mib_before_they_are_refused() {
    let endpoint = endpoint().await;
    let limits = VariableLimits::default();
    let mut refused = 0;
    for (name, shape) in VARIABLES {
        let by_bytes = largest(VARIABLES_BYTES_MAX, |n| shape(n).len() <= VARIABLES_BYTES_MAX);
        let by_all = largest(VARIABLES_BYTES_MAX, |n| limits.check(&shape(n)).is_ok());
        for size in [by_bytes, by_bytes + 1, by_all, by_all + 1] {
            for body in bodies(&shape(size)) {
                let (bytes, response) = peak_bytes(endpoint.handle(post(body))).await;
                let answer = answer(response).await;
                assert!(bytes <= REFUSAL_BYTES_MAX, "{name}: {bytes}");
                if answer.is_refused() {
                    refused += 1;
                    assert_eq!(answer.status, 400, "{name}: {:?}", answer.body);
                    assert!(answer.bytes < 1_000, "{name}: {}", answer.bytes);
                }
            }
        }
    }
    assert!(refused > VARIABLES.len() * 2, "{refused}");
}
