import { useState } from "react";
import { TextField } from "../ui/Field.js";
import { keyIn } from "./operator-key.js";

/** The way to the operator key, and a field for it. */
export function KeyNeeded({ isRefused, onKey }: { isRefused: boolean; onKey: (key: string) => void }) {
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(isRefused);
  const given = text.trim();
  const key = keyIn(given.includes("#") ? given.slice(given.indexOf("#")) : `#key=${given}`);
  return (
    <section className="browse-key">
      <h1>This page needs the operator key</h1>
      <p>
        Stored items are personal data, so only the operator of the server may read them here. The server prints an
        address with a key when it starts. Open that address:
      </p>
      <pre tabIndex={0} role="region" aria-label="Printed address">
        onehop browse at {location.origin}/browse#key=…
      </pre>
      <p>
        The line is printed where the server listens on a loopback address. Elsewhere, and with{" "}
        <code>--production</code>, start it with <code>--operations=on --browse=on</code>. Each start makes a new key.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key === null) {
            setWrong(true);
          } else {
            onKey(key);
          }
        }}
      >
        <TextField
          label="Key or address"
          type="password"
          autoComplete="off"
          value={text}
          onText={(next) => {
            setText(next);
            setWrong(false);
          }}
          error={isWrong ? "This is not the key of the running server." : undefined}
        />
        <button type="submit" className="button" disabled={given === ""}>
          Open
        </button>
      </form>
    </section>
  );
}
