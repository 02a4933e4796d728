"""What holds of every answer, whatever was asked."""

import schemathesis
from hypothesis import strategies
from schemathesis.graphql import nodes

MEDIA_TYPES = ("application/json", "application/graphql-response+json")
CODES = {
    "ACCOUNT_SUSPENDED",
    "BAD_USER_INPUT",
    "CONFLICT",
    "FORBIDDEN",
    "GRAPHQL_PARSE_FAILED",
    "GRAPHQL_VALIDATION_FAILED",
    "LIMIT_EXCEEDED",
    "NOT_FOUND",
    "INVALID_CREDENTIALS",
    "UNAUTHENTICATED",
}

# Amounts of money, and texts that are none.
AMOUNTS = strategies.one_of(
    strategies.integers(0, 10**9).map(lambda cents: f"{cents // 100}.{cents % 100:02}"), strategies.text(max_size=20)
)
schemathesis.graphql.scalar("Decimal", AMOUNTS.map(nodes.String))


@schemathesis.check
def no_fault(ctx, response, case):
    """No status of a server's fault, no masked fault, and data or errors in the form of GraphQL."""
    assert response.status_code < 500, f"status {response.status_code}"
    media_type = response.headers["content-type"][0].split(";")[0]
    assert media_type in MEDIA_TYPES, media_type
    answer = response.json()
    errors = answer.get("errors", [])
    assert errors or answer["data"] is not None, "neither data nor errors"
    for error in errors:
        code = error["extensions"]["code"]
        assert code in CODES, f"{code}: {error['message']}"
        assert "errorId" not in error["extensions"], error["message"]
