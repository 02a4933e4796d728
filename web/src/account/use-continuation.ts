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
  const hasEnded = session?.hasEnded ?? true;
  const isRefused = codeOf(error) === "UNAUTHENTICATED";
  const submitAgain = useEffectEvent(submit);
  useEffect(() => {
    if (hasEnded) {
      isWaiting.current = isRefused && isNeeded;
    } else if (isWaiting.current) {
      isWaiting.current = false;
      submitAgain();
    }
  }, [hasEnded, isRefused, isNeeded]);
}
