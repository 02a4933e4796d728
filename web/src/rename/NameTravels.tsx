import { useEffect, useState } from "react";
import { ask } from "../api/request.js";
import { counted } from "../ui/count.js";
import { NameInCopiesDocument, type NameInCopiesQuery } from "./copies.generated.js";

/** Between two looks at the copies, in milliseconds. */
const LOOK_MS = 400;
/** How many of the user's newest posts are looked at. */
const COPIES = 50;

/**
 * Looks at the copies of a user's posts until all carry the new name. It goes past the cache, which knows a user once and
 * would not show that copies differ.
 */
export function NameTravels({ userId, username }: { userId: string; username: string }) {
  const [copies, setCopies] = useState<NameInCopiesQuery | null>(null);
  const names = copies?.user?.posts.nodes.map(({ author }) => author.username) ?? [];
  const renamed = names.filter((name) => name === username).length;
  const isDone = copies !== null && renamed === names.length;
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    if (isDone) {
      return;
    }
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const seen = await ask(NameInCopiesDocument, { id: userId, first: COPIES }, { signal: stop.signal }).catch(
        () => null,
      );
      if (!stop.signal.aborted) {
        setCopies((known) => seen?.data ?? known);
        setLooks(looks + 1);
      }
    };
    const timer = setTimeout(() => void look(), looks === 0 ? 0 : LOOK_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [looks, isDone, userId]);
  return (
    <div className="name-travels" role="status">
      {copies === null ? (
        <p>The new name is yours. Looking at the copies…</p>
      ) : (
        <>
          <p>
            {isDone
              ? `All ${counted(names.length, "copy", "copies")} looked at carry the new name.`
              : `${renamed} of ${counted(names.length, "copy", "copies")} carry the new name.`}
          </p>
          <progress aria-label="Copies with the new name" value={renamed} max={Math.max(names.length, 1)} />
        </>
      )}
    </div>
  );
}
