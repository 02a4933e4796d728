import { useState } from "react";
import type { CombinedError } from "urql";
import { fieldOf, messageOf } from "../api/errors.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import "./account.css";

/** Gives an account another password, which signs all other browsers out. */
export function PasswordChange({
  login,
  fetching,
  error,
  onChange,
}: {
  /** The name by which the account signs in. */
  login: string;
  fetching: boolean;
  error: CombinedError | undefined;
  /** Changes the password; says whether that was done. */
  onChange: (passwords: { currentPassword: string; newPassword: string }) => Promise<boolean>;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [isDone, setIsDone] = useState(false);
  const [currentPassword, setCurrentPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");

  const close = (): void => {
    setIsOpen(false);
    setCurrentPassword("");
    setNewPassword("");
  };
  const submit = async (): Promise<void> => {
    if (await onChange({ currentPassword, newPassword })) {
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
          className="button button-plain"
          onClick={() => {
            setIsOpen(true);
            setIsDone(false);
          }}
        >
          Change password
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
      <input type="text" name="username" autoComplete="username" value={login} readOnly hidden />
      <TextField
        label="Current password"
        type="password"
        value={currentPassword}
        error={field === "currentPassword" ? "Wrong password." : undefined}
        autoComplete="current-password"
        required
        onText={setCurrentPassword}
      />
      <TextField
        label="New password"
        type="password"
        value={newPassword}
        error={error !== undefined && field === "newPassword" ? messageOf(error) : undefined}
        hint="10 to 200 characters, and not a common password."
        autoComplete="new-password"
        required
        onText={setNewPassword}
      />
      {field === undefined && <FormError error={error} />}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : "Change the password"}
      </button>{" "}
      <button type="button" className="quiet" onClick={close}>
        Cancel
      </button>
    </form>
  );
}
