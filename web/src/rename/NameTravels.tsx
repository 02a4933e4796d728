import { useEffect, useEffectEvent, useState } from "react";
import { counted } from "../ui/count.js";
import "./name-travels.css";

/** Between two looks at the copies, in milliseconds. */
const LOOK_MS = 400;

/**
 * Progress of a rename: reads the copies of a name until all carry the new one. The reads go past the cache,
 * which knows each named thing once and would not show that copies differ.
 */
export function NameTravels({
  name,
  unit,
  done,
  readCopies,
}: {
  name: string;
  /** A thing that carries a copy of the name, such as a post. */
  unit: "post" | "product";
  /** The text after all of them carry it. */
  done: string;
  /** The name in each copy. */
  readCopies: (signal: AbortSignal) => Promise<readonly string[]>;
}) {
  const [names, setNames] = useState<readonly string[] | null>(null);
  const [looks, setLooks] = useState(0);
  const renamed = names?.filter((seen) => seen === name).length ?? 0;
  const isDone = names !== null && renamed === names.length;
  const read = useEffectEvent(readCopies);
  useEffect(() => {
    if (isDone) {
      return;
    }
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const seen = await read(stop.signal).catch(() => null);
      if (!stop.signal.aborted) {
        setNames((known) => seen ?? known);
        setLooks(looks + 1);
      }
    };
    const timer = setTimeout(() => void look(), looks === 0 ? 0 : LOOK_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [looks, isDone]);
  return (
    <div className="name-travels" role="status">
      {names === null ? (
        <p>Saved. Updating {unit}s…</p>
      ) : (
        <>
          <p>
            {isDone
              ? done
              : `Updating ${unit}s: ${renamed.toLocaleString("en")} of ${counted(names.length, unit)} done.`}
          </p>
          <progress aria-label="Progress of the new name" value={renamed} max={Math.max(names.length, 1)} />
        </>
      )}
    </div>
  );
}
