import type { CombinedError } from "@urql/core";
import { messageOf } from "../api/errors.js";
import { Notice } from "./Notice.js";

/**
 * A query that failed, and a button to send it again. The client sends it again by itself when the connection
 * is back.
 */
export function Failure({
  error,
  onRetry,
}: {
  error: CombinedError;
  /** Sends the query again, past the cache: the function of `useQuery`, or another. */
  onRetry: (options: { requestPolicy: "network-only" }) => void;
}) {
  const isNetwork = error.networkError !== undefined;
  return (
    <Notice title={isNetwork ? "Could not connect" : "Something went wrong"} kind="failure">
      <p>{isNetwork ? "Check your connection and try again." : messageOf(error)}</p>
      <button
        type="button"
        className="button"
        onClick={() => {
          onRetry({ requestPolicy: "network-only" });
        }}
      >
        Try again
      </button>
    </Notice>
  );
}
