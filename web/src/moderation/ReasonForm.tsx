import { useState } from "react";
import type { CombinedError } from "urql";
import { messageAt } from "../api/errors.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";

/** The longest reason that the server accepts, in characters. */
const REASON_CHARS_MAX = 500;

/** A button of staff that asks for the reason of an act before it is done. */
export function ReasonForm({
  label,
  question,
  isRequired = false,
  fetching,
  error,
  onSubmit,
}: {
  label: string;
  question: string;
  isRequired?: boolean;
  fetching: boolean;
  error: CombinedError | undefined;
  /** Does it; says whether it was done. */
  onSubmit: (reason: string | null) => Promise<boolean>;
}) {
  const [reason, setReason] = useState<string | null>(null);
  if (reason === null) {
    return (
      <button
        type="button"
        className="quiet"
        onClick={() => {
          setReason("");
        }}
      >
        {label}
      </button>
    );
  }
  const reasonError = messageAt(error, "reason");
  return (
    <form
      className="reason-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void onSubmit(reason === "" ? null : reason).then((isDone) => {
            if (isDone) {
              setReason(null);
            }
          });
        }
      }}
    >
      <p>{question}</p>
      <TextField
        label="Reason"
        value={reason}
        charsMax={REASON_CHARS_MAX}
        hint="Staff see it in the moderation log."
        error={reasonError}
        required={isRequired}
        onText={setReason}
      />
      {reasonError === undefined && <FormError error={error} />}
      <button type="submit" className="button button-danger" disabled={fetching}>
        {fetching ? "One moment…" : label}
      </button>{" "}
      <button
        type="button"
        className="quiet"
        onClick={() => {
          setReason(null);
        }}
      >
        Cancel
      </button>
    </form>
  );
}
