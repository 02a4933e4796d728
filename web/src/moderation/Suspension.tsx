import { useMutation, useQuery } from "urql";
import { Link } from "wouter";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";
import { SuspendUserDocument, SuspensionDocument, UnsuspendUserDocument } from "./moderation.generated.js";
import { ReasonForm } from "./ReasonForm.js";
import "./moderation.css";

/** For staff, on a profile: whether the account is suspended, and the way to change that. */
export function Suspension({ userId }: { userId: string }) {
  const isStaff = useViewerIsStaff() === true;
  const [{ data }] = useQuery({ query: SuspensionDocument, variables: { id: userId }, pause: !isStaff });
  const [suspending, suspend] = useMutation(SuspendUserDocument);
  const [unsuspending, unsuspend] = useMutation(UnsuspendUserDocument);
  const user = data?.user;
  if (!isStaff || user?.viewerCanSuspend !== true) {
    return null;
  }
  return (
    <div className="suspension">
      <p role="status">{user.isSuspended === true && <strong>This account is suspended.</strong>}</p>
      {user.isSuspended === true ? (
        <ReasonForm
          key="unsuspend"
          label="End the suspension"
          question="Give the account back?"
          fetching={unsuspending.fetching}
          error={unsuspending.error}
          onSubmit={async (reason) => (await unsuspend({ input: { userId, reason } })).data?.unsuspendUser != null}
        />
      ) : (
        <ReasonForm
          key="suspend"
          label="Suspend account"
          question="Suspend this account? The user is signed out everywhere and cannot sign in. Posts and comments stay."
          isRequired
          fetching={suspending.fetching}
          error={suspending.error}
          onSubmit={async (reason) =>
            (await suspend({ input: { userId, reason: reason ?? "" } })).data?.suspendUser != null
          }
        />
      )}{" "}
      <Link href="/moderation">Moderation log</Link>
    </div>
  );
}
