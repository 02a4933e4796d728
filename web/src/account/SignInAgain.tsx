import { useEffect, useRef } from "react";
import { endSession, useSession } from "../api/session.js";
import { needSignIn, useSignInNeed } from "../api/sign-in-need.js";
import { CredentialsForm } from "./CredentialsForm.js";
import "./account.css";

/** The session of a user that has ended on the server; null while it is good, and without a session. */
function useEndedSession() {
  const session = useSession();
  return session?.hasEnded === true ? session : null;
}

/** Says that the session has ended, beside the page: reading goes on without it. */
export function SessionEnded() {
  const session = useEndedSession();
  return (
    <div className="session-ended" role="status">
      {session !== null && (
        <p>
          Your session has ended.{" "}
          <button
            type="button"
            className="link"
            onClick={() => {
              needSignIn(true);
            }}
          >
            Sign in again
          </button>{" "}
          <button type="button" className="link" onClick={endSession}>
            Continue without signing in
          </button>
        </p>
      )}
    </div>
  );
}

/**
 * Dialog over the page for a user whose session has ended and who needs it now, so that typed text stays
 * where it is.
 */
export function SignInAgain() {
  const session = useEndedSession();
  const isNeeded = useSignInNeed();
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = session !== null && isNeeded;
  const hasEnded = session !== null;
  useEffect(() => {
    if (!hasEnded) {
      needSignIn(false);
    }
  }, [hasEnded]);
  useEffect(() => {
    if (isOpen) {
      dialog.current?.showModal();
      // The username cannot be changed, so there is nothing to type before the password.
      dialog.current?.querySelector<HTMLInputElement>("input[type=password]")?.focus();
    }
  }, [isOpen]);
  if (!isOpen) {
    return null;
  }
  return (
    <dialog
      ref={dialog}
      className="sign-in-again"
      aria-labelledby="sign-in-again-title"
      onCancel={() => {
        needSignIn(false);
      }}
    >
      <h2 id="sign-in-again-title">Sign in again</h2>
      <p>Your session has ended. Sign in again to continue on this page.</p>
      <CredentialsForm isNew={false} username={session.user.username} />
      <button type="button" className="link" onClick={endSession}>
        Continue without signing in
      </button>
    </dialog>
  );
}
