import { useSyncExternalStore } from "react";
import { whenInWords } from "./when.js";

/** The interval at which relative times are updated, in milliseconds. */
const TICK_MS = 30_000;

/** When something happened, as an age; the exact time is in its title. */
export function When({ date }: { date: string }) {
  const now = useSyncExternalStore(eachTick, nowInTicks) * TICK_MS;
  const at = new Date(date);
  return (
    <time dateTime={date} title={at.toLocaleString()}>
      {whenInWords(at, new Date(Math.max(now, 0)))}
    </time>
  );
}

function eachTick(listener: () => void): () => void {
  const timer = setInterval(listener, TICK_MS);
  return () => {
    clearInterval(timer);
  };
}

function nowInTicks(): number {
  return Math.ceil(Date.now() / TICK_MS);
}
