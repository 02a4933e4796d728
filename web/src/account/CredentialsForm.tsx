import { useRef, useState } from "react";
import { useMutation } from "urql";
import { fieldOf, messageAt } from "../api/errors.js";
import { startSession } from "../api/session.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { randomKey } from "../ui/random-key.js";
import { SignInDocument, SignUpDocument } from "./account.generated.js";

/** The longest username that the server accepts, in characters. */
const USERNAME_CHARS_MAX = 30;

/** A username and a password, for an account that is there or for a new one. */
export function CredentialsForm({
  isNew,
  username: known,
  onDone,
}: {
  isNew: boolean;
  /** The only user who may sign in here. */
  username?: string;
  onDone?: () => void;
}) {
  const [username, setUsername] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [signingIn, signIn] = useMutation(SignInDocument);
  const [signingUp, signUp] = useMutation(SignUpDocument);
  const { fetching, error } = isNew ? signingUp : signingIn;
  const idempotencyKey = useRef<{ of: string; key: string }>(null);

  const submit = async (): Promise<void> => {
    const session = isNew ? await signedUp() : (await signIn({ input: { username, password } })).data?.signIn;
    if (session != null) {
      startSession(session);
      onDone?.();
    }
  };
  const signedUp = async () => {
    const of = JSON.stringify([username, password]);
    if (idempotencyKey.current?.of !== of) {
      idempotencyKey.current = { of, key: randomKey() };
    }
    const input = { username, password, idempotencyKey: idempotencyKey.current.key };
    return (await signUp({ input })).data?.createUser;
  };

  const field = fieldOf(error);
  const errorAt = (name: string) => messageAt(error, name);
  return (
    <form
      className="credentials"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      <TextField
        label="Username"
        value={username}
        error={errorAt("username")}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        readOnly={known !== undefined}
        required
        {...(isNew ? { charsMax: USERNAME_CHARS_MAX, hint: "3 to 30 letters, digits, or the characters _ - ." } : {})}
        onText={setUsername}
      />
      <TextField
        label="Password"
        type="password"
        value={password}
        error={errorAt("password")}
        autoComplete={isNew ? "new-password" : "current-password"}
        required
        {...(isNew ? { hint: "10 to 200 characters, and not a common password." } : {})}
        onText={setPassword}
      />
      {field !== "username" && field !== "password" && <FormError error={error} />}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : isNew ? "Sign up" : "Sign in"}
      </button>
    </form>
  );
}
