import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { CredentialsForm } from "./CredentialsForm.js";
import { nextPath } from "./next-path.js";
import "./account.css";

/** Signs in, or up, and goes on to the interrupted page and action. */
export default function SignInPage() {
  const [isNew, setIsNew] = useState(false);
  const [search] = useSearchParams();
  const [, navigate] = useLocation();
  const session = useSession();
  usePageTitle(isNew ? "Sign up" : "Sign in");
  const goOn = (): void => {
    navigate(nextPath(search.get("next")), { replace: true, state: history.state as unknown });
  };
  return (
    <section className="account-page">
      <h1>{isNew ? "Sign up" : "Sign in"}</h1>
      {session?.hasEnded === false ? (
        <>
          <p>
            You are signed in as <bdi>{session.user.username}</bdi>.
          </p>
          <button type="button" className="button" onClick={goOn}>
            Continue
          </button>
        </>
      ) : (
        <>
          <CredentialsForm isNew={isNew} onDone={goOn} />
          <p>
            {isNew ? "Already have an account?" : "New here?"}{" "}
            <button
              type="button"
              className="link"
              onClick={() => {
                setIsNew(!isNew);
              }}
            >
              {isNew ? "Sign in" : "Sign up"}
            </button>
          </p>
        </>
      )}
    </section>
  );
}
