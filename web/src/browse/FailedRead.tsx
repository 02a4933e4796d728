import { UnreachableServer } from "../api/request.js";
import { Notice } from "../ui/Notice.js";

/** A read that failed, and a button to send it again. */
export function FailedRead({ error, again }: { error: Error; again: () => void }) {
  const isUnreachable = error instanceof UnreachableServer;
  return (
    <Notice title={isUnreachable ? "Could not connect" : "The read failed"} kind="failure">
      <p>{isUnreachable ? "Is the server running? Try again." : error.message}</p>
      <button type="button" className="button" onClick={again}>
        Try again
      </button>
    </Notice>
  );
}
