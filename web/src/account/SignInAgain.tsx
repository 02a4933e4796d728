import { useEffect, useRef } from "react";
import { endSession, useSession } from "../api/session.js";
import { CredentialsForm } from "./CredentialsForm.js";
import "./account.css";

/** Asks whoever's token has expired to sign in again, over the page, so that what was typed stays where it is. */
export function SignInAgain() {
  const session = useSession();
  const dialog = useRef<HTMLDialogElement>(null);
  const isExpired = session !== null && session.accessToken === null;
  useEffect(() => {
    if (isExpired) {
      dialog.current?.showModal();
    }
  }, [isExpired]);
  if (!isExpired) {
    return null;
  }
  return (
    <dialog ref={dialog} className="sign-in-again" aria-labelledby="sign-in-again-title" onCancel={endSession}>
      <h2 id="sign-in-again-title">Sign in again</h2>
      <p>Your session has ended. What you typed is still there.</p>
      <CredentialsForm isNew={false} username={session.user.username} />
      <button type="button" className="link" onClick={endSession}>Go on without an account</button>
    </dialog>
  );
}
