import { useState } from "react";
import { useMutation } from "urql";
import { messageOf } from "../api/errors.js";
import { ask } from "../api/request.js";
import { renameSession } from "../api/session.js";
import { NameTravels } from "../rename/NameTravels.js";
import { TextField } from "../ui/Field.js";
import { NameInCopiesDocument } from "./copies.generated.js";
import { RenameDocument } from "./settings.generated.js";

const USERNAME_CHARS_MAX = 30;
/** The number of the user's newest posts that are looked at. */
const COPIES = 50;

/** Changes the username, and shows how posts follow. */
export function Rename({ userId }: { userId: string }) {
  const [username, setUsername] = useState<string | null>(null);
  const [renamed, setRenamed] = useState<string | null>(null);
  const [{ fetching, error }, rename] = useMutation(RenameDocument);
  return (
    <div className="rename">
      {username === null ? (
        <button
          type="button"
          className="button button-plain"
          onClick={() => {
            setUsername("");
          }}
        >
          Change username
        </button>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void rename({ input: { username } }).then(({ data }) => {
              if (data?.updateUser != null) {
                const taken = data.updateUser.user.username;
                renameSession(taken);
                setRenamed(taken);
                setUsername(null);
              }
            });
          }}
        >
          <TextField
            label="New username"
            value={username}
            charsMax={USERNAME_CHARS_MAX}
            hint="3 to 30 letters, digits, or the characters _ - ."
            error={error === undefined ? undefined : messageOf(error)}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            required
            onText={setUsername}
          />
          <button type="submit" className="button" disabled={fetching}>
            {fetching ? "One moment…" : "Change username"}
          </button>{" "}
          <button
            type="button"
            className="quiet"
            onClick={() => {
              setUsername(null);
            }}
          >
            Cancel
          </button>
        </form>
      )}
      {renamed !== null && (
        <NameTravels
          key={renamed}
          name={renamed}
          unit="post"
          done="Done. Your new name is shown everywhere."
          readCopies={(signal) => namesInPosts(userId, signal)}
        />
      )}
    </div>
  );
}

/** The name in the copies of a user's posts. */
async function namesInPosts(userId: string, signal: AbortSignal): Promise<string[]> {
  const { data } = await ask(NameInCopiesDocument, { id: userId, first: COPIES }, { signal });
  return data.user?.posts.nodes.map(({ author }) => author.username) ?? [];
}
