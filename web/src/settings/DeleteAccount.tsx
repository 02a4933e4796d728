import { useState } from "react";
import { useMutation } from "urql";
import { codeOf, fieldOf } from "../api/errors.js";
import { endSession } from "../api/session.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { SettingsPart } from "../ui/SettingsPart.js";
import { DeleteUserDocument } from "./settings.generated.js";

/** Deletes the account, once the password and the button confirm it. */
export function DeleteAccount({ username, onDeleted }: { username: string; onDeleted: () => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const [currentPassword, setCurrentPassword] = useState("");
  const [{ fetching, error }, deleteUser] = useMutation(DeleteUserDocument);
  const submit = async (): Promise<void> => {
    if ((await deleteUser({ input: { currentPassword } })).data?.deleteUser != null) {
      onDeleted();
      endSession();
    }
  };
  return (
    <SettingsPart title="Delete your account">
      <p>
        Your posts with their comments, your comments and your likes are removed for good, and your username becomes
        free. This cannot be undone.
      </p>
      {isOpen ? (
        <form
          className="settings-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!fetching) {
              void submit();
            }
          }}
        >
          <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
          <TextField
            label="Your password"
            type="password"
            value={currentPassword}
            error={
              fieldOf(error) === "currentPassword" && codeOf(error) === "FORBIDDEN" ? "Wrong password." : undefined
            }
            autoComplete="current-password"
            required
            onText={setCurrentPassword}
          />
          {fieldOf(error) !== "currentPassword" && <FormError error={error} />}
          <button type="submit" className="button button-danger" disabled={fetching}>
            {fetching ? "One moment…" : "Delete my account"}
          </button>{" "}
          <button
            type="button"
            className="quiet"
            onClick={() => {
              setIsOpen(false);
              setCurrentPassword("");
            }}
          >
            Cancel
          </button>
        </form>
      ) : (
        <button
          type="button"
          className="button button-plain"
          onClick={() => {
            setIsOpen(true);
          }}
        >
          Delete account
        </button>
      )}
    </SettingsPart>
  );
}
