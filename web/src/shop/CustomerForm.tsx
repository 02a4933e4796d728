import { useRef, useState } from "react";
import { useMutation } from "urql";
import { fieldOf, messageAt, messageOf } from "../api/errors.js";
import { TextField } from "../ui/Field.js";
import { randomKey } from "../ui/random-key.js";
import { SignInCustomerDocument, SignUpCustomerDocument } from "./customer.generated.js";
import { startCustomerSession } from "./customer-session.js";

/** The longest first or last name that the server accepts, in characters. */
const NAME_CHARS_MAX = 100;
/** The fields that show what is wrong with them. */
const FIELDS = ["firstName", "lastName", "emailAddress", "password"];

const nothing = { firstName: "", lastName: "", emailAddress: "", password: "" };

/** An e-mail address and a password, for a customer that is there or for a new one. */
export function CustomerForm({ isNew, onDone }: { isNew: boolean; onDone: () => void }) {
  const [typed, setTyped] = useState(nothing);
  const [signingIn, signIn] = useMutation(SignInCustomerDocument);
  const [signingUp, signUp] = useMutation(SignUpCustomerDocument);
  const { fetching, error } = isNew ? signingUp : signingIn;
  const idempotencyKey = useRef<{ of: string; key: string }>(null);

  const signedUp = async () => {
    const of = JSON.stringify(typed);
    if (idempotencyKey.current?.of !== of) {
      idempotencyKey.current = { of, key: randomKey() };
    }
    return (await signUp({ input: { ...typed, idempotencyKey: idempotencyKey.current.key } })).data?.createCustomer;
  };
  const signedIn = async () => {
    const { emailAddress, password } = typed;
    return (await signIn({ input: { emailAddress, password } })).data?.signInCustomer;
  };
  const submit = async (): Promise<void> => {
    const session = await (isNew ? signedUp() : signedIn());
    if (session != null) {
      startCustomerSession(session);
      onDone();
    }
  };

  const field = fieldOf(error);
  const of = (name: keyof typeof nothing) => ({
    value: typed[name],
    error: messageAt(error, name),
    required: true,
    onText: (text: string) => {
      setTyped({ ...typed, [name]: text });
    },
  });
  return (
    <form
      className="customer-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      {isNew && (
        <>
          <TextField label="First name" {...of("firstName")} charsMax={NAME_CHARS_MAX} autoComplete="given-name" />
          <TextField label="Last name" {...of("lastName")} charsMax={NAME_CHARS_MAX} autoComplete="family-name" />
        </>
      )}
      <TextField label="E-mail address" {...of("emailAddress")} type="email" autoComplete="email" />
      <TextField
        label="Password"
        {...of("password")}
        type="password"
        autoComplete={isNew ? "new-password" : "current-password"}
        {...(isNew ? { hint: "10 to 200 characters, and not a common password." } : {})}
      />
      {error !== undefined && !FIELDS.includes(field ?? "") && (
        <p role="alert" className="field-error">
          {messageOf(error)}
        </p>
      )}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : isNew ? "Sign up" : "Sign in"}
      </button>
    </form>
  );
}
