import { useState } from "react";
import { useMutation } from "urql";
import { fieldOf, messageOf } from "../api/errors.js";
import { startSession } from "../api/session.js";
import { TextField } from "../ui/Field.js";
import { ChangePasswordDocument } from "./profile.generated.js";

/** Gives oneself another password, which signs all other browsers out. */
export function ChangePassword({ username }: { username: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const [isDone, setIsDone] = useState(false);
  const [currentPassword, setCurrentPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  const [{ fetching, error }, change] = useMutation(ChangePasswordDocument);

  const close = (): void => {
    setIsOpen(false);
    setCurrentPassword("");
    setNewPassword("");
  };
  const submit = async (): Promise<void> => {
    const changed = (await change({ input: { currentPassword, newPassword } })).data?.changePassword;
    if (changed != null) {
      startSession(changed);
      setIsDone(true);
      close();
    }
  };
  const field = fieldOf(error);
  if (!isOpen) {
    return (
      <div className="change-password">
        <button
          type="button"
          className="quiet"
          onClick={() => {
            setIsOpen(true);
            setIsDone(false);
          }}
        >
          Change your password
        </button>
        <p role="status">{isDone && "Your password is changed. All other browsers are signed out."}</p>
      </div>
    );
  }
  return (
    <form
      className="change-password"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      {/* Password managers learn from it whose password changes. */}
      <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
      <TextField
        label="Current password"
        type="password"
        value={currentPassword}
        error={field === "currentPassword" ? "This is not your password." : undefined}
        autoComplete="current-password"
        required
        onText={setCurrentPassword}
      />
      <TextField
        label="New password"
        type="password"
        value={newPassword}
        error={error !== undefined && field === "newPassword" ? messageOf(error) : undefined}
        hint="10 to 200 characters."
        autoComplete="new-password"
        required
        onText={setNewPassword}
      />
      {error !== undefined && field === undefined && (
        <p role="alert" className="field-error">
          {messageOf(error)}
        </p>
      )}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : "Change the password"}
      </button>{" "}
      <button type="button" className="quiet" onClick={close}>
        Cancel
      </button>
    </form>
  );
}
