import type { ReactNode } from "react";
import "./account.css";

/** The page of signing in and up, of the blog and of the shop: the form, or whoever is signed in. */
export function AccountEntry({
  isNew,
  onIsNew,
  signedInAs,
  onContinue,
  invitation = "Already have an account?",
  children,
}: {
  isNew: boolean;
  onIsNew: (isNew: boolean) => void;
  /** The name of the signed-in account; null where nobody is signed in. */
  signedInAs: string | null;
  onContinue: () => void;
  /** The question beside the way from signing up to signing in. */
  invitation?: string;
  /** The form. */
  children: ReactNode;
}) {
  return (
    <section className="account-page">
      <h1>{isNew ? "Sign up" : "Sign in"}</h1>
      {signedInAs === null ? (
        <>
          {children}
          <p>
            {isNew ? invitation : "New here?"}{" "}
            <button
              type="button"
              className="link"
              onClick={() => {
                onIsNew(!isNew);
              }}
            >
              {isNew ? "Sign in" : "Sign up"}
            </button>
          </p>
        </>
      ) : (
        <>
          <p>
            You are signed in as <bdi>{signedInAs}</bdi>.
          </p>
          <button type="button" className="button" onClick={onContinue}>
            Continue
          </button>
        </>
      )}
    </section>
  );
}
