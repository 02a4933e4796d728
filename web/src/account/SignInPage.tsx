import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { AccountEntry } from "./AccountEntry.js";
import { CredentialsForm } from "./CredentialsForm.js";
import { nextPath } from "./next-path.js";

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
    <AccountEntry
      isNew={isNew}
      onIsNew={setIsNew}
      signedInAs={session?.hasEnded === false ? session.user.username : null}
      onContinue={goOn}
    >
      <CredentialsForm isNew={isNew} onDone={goOn} />
    </AccountEntry>
  );
}
