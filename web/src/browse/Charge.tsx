import { formatRequestCharge } from "../api/request-charge.js";

/** The request charge of the last read. */
export function Charge({ requestCharge }: { requestCharge: number | null }) {
  return (
    <p className="browse-charge" role="status">
      {requestCharge === null ? (
        "The server did not state the request charge of this read."
      ) : (
        <>
          This read: <strong>{formatRequestCharge(requestCharge)}</strong>
        </>
      )}
    </p>
  );
}
