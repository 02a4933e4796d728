import type { CombinedError } from "@urql/core";
import { useOnReconnect } from "../api/connection.js";
import { messageOf } from "../api/errors.js";
import { Notice } from "./Notice.js";

/** A query that failed, and a button to send it again. A network failure is tried again when the connection is back. */
export function Failure({ error, onRetry }: { error: CombinedError; onRetry: () => void }) {
  const isNetwork = error.networkError !== undefined;
  useOnReconnect(() => {
    if (isNetwork) {
      onRetry();
    }
  });
  return (
    <Notice title={isNetwork ? "The server could not be reached" : "That did not work"} kind="failure">
      <p>{messageOf(error)}</p>
      <button type="button" className="button" onClick={onRetry}>Try again</button>
    </Notice>
  );
}
