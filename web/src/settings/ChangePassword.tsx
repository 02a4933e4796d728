import { useMutation } from "urql";
import { PasswordChange } from "../account/PasswordChange.js";
import { startSession } from "../api/session.js";
import { ChangePasswordDocument } from "./settings.generated.js";

/** Gives the signed-in user another password. */
export function ChangePassword({ username }: { username: string }) {
  const [{ fetching, error }, change] = useMutation(ChangePasswordDocument);
  return (
    <PasswordChange
      login={username}
      fetching={fetching}
      error={error}
      onChange={async (input) => {
        const changed = (await change({ input })).data?.changePassword;
        if (changed != null) {
          startSession(changed);
        }
        return changed != null;
      }}
    />
  );
}
