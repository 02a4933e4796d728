import { useEffect, useEffectEvent, useRef } from "react";
import type { CombinedError } from "urql";
import { codeOf } from "../api/errors.js";
import { useSession } from "../api/session.js";
import { useSignInNeed } from "../api/sign-in-need.js";

/**
 * Continues a submission that was refused because the session had ended, once its user has signed in again.
 * Closing the dialog gives it up.
 */
export function useContinuation(error: CombinedError | undefined, submit: () => void): void {
  const session = useSession();
  const isNeeded = useSignInNeed();
  const isWaiting = useRef(false);
  const givenUp = useRef<CombinedError>(undefined);
  const hasEnded = session?.hasEnded ?? true;
  const submitAgain = useEffectEvent(submit);
  useEffect(() => {
    const isRefused = codeOf(error) === "UNAUTHENTICATED" && givenUp.current !== error;
    if (!hasEnded && isWaiting.current) {
      isWaiting.current = false;
      submitAgain();
    } else if (hasEnded && isWaiting.current && !isNeeded) {
      isWaiting.current = false;
      givenUp.current = error;
    } else if (hasEnded && isRefused && isNeeded) {
      isWaiting.current = true;
    }
  }, [hasEnded, error, isNeeded]);
}
