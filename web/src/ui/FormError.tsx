import type { CombinedError } from "@urql/core";
import { codeOf, messageOf } from "../api/errors.js";

/** Why a form or an action was refused. An ended session has a dialog of its own. */
export function FormError({ error }: { error: CombinedError | undefined }) {
  return (
    error !== undefined &&
    codeOf(error) !== "UNAUTHENTICATED" && (
      <p role="alert" className="field-error">
        {messageOf(error)}
      </p>
    )
  );
}
