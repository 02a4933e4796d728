import type { CombinedError } from "@urql/core";
import { messageOf } from "../api/errors.js";
import { Notice } from "./Notice.js";

/** A query that failed, and a button to send it again. The client sends it again by itself when the connection is back. */
export function Failure({ error, onRetry }: { error: CombinedError; onRetry: () => void }) {
  const isNetwork = error.networkError !== undefined;
  return (
    <Notice title={isNetwork ? "The server could not be reached" : "That did not work"} kind="failure">
      <p>{messageOf(error)}</p>
      <button type="button" className="button" onClick={onRetry}>
        Try again
      </button>
    </Notice>
  );
}
