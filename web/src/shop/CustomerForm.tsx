import { useRef, useState } from "react";
import { useMutation } from "urql";
import { fieldOf, messageAt } from "../api/errors.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { useTabDraft } from "../ui/tab-draft.js";
import { randomKey } from "../ui/random-key.js";
import { SignInCustomerDocument, SignUpCustomerDocument } from "./customer.generated.js";
import { startCustomerSession } from "./customer-session.js";

/** The longest first or last name that the server accepts, in characters. */
const NAME_CHARS_MAX = 100;
const LABELS = {
  firstName: "First name",
  lastName: "Last name",
  emailAddress: "E-mail address",
  password: "Password",
};

const emptyForm = { firstName: "", lastName: "", emailAddress: "" };

/**
 * An e-mail address and a password, for a customer that is there or for a new one. What is typed outlives a
 * reload, except for the password.
 */
export function CustomerForm({ isNew, onDone }: { isNew: boolean; onDone: () => void }) {
  const { draft, change, forget } = useTabDraft("customer", emptyForm);
  const [password, setPassword] = useState("");
  const typed = { ...draft, password };
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
      forget();
      startCustomerSession(session);
      onDone();
    }
  };

  const field = fieldOf(error);
  const of = (name: keyof typeof LABELS) => ({
    label: LABELS[name],
    value: typed[name],
    // The server's message begins with the name that the API has for the field.
    error: messageAt(error, name)?.replace(new RegExp(`^${name}\\b`, "i"), LABELS[name]),
    required: true,
    onText: (text: string) => {
      if (name === "password") {
        setPassword(text);
      } else {
        change({ [name]: text });
      }
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
          <TextField {...of("firstName")} charsMax={NAME_CHARS_MAX} autoComplete="given-name" />
          <TextField {...of("lastName")} charsMax={NAME_CHARS_MAX} autoComplete="family-name" />
        </>
      )}
      <TextField {...of("emailAddress")} type="email" autoComplete="email" />
      <TextField
        {...of("password")}
        type="password"
        autoComplete={isNew ? "new-password" : "current-password"}
        {...(isNew ? { hint: "10 to 200 characters, and not a common password." } : {})}
      />
      {!(field !== undefined && field in LABELS) && <FormError error={error} />}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : isNew ? "Sign up" : "Sign in"}
      </button>
    </form>
  );
}
