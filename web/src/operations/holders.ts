export interface Held {
  owner: number | null;
  heldHere: boolean;
}

/** The owner of a lease: a process, by its number. */
export function holderInWords({ owner, heldHere }: Held): string {
  return heldHere ? "this process" : owner === null ? "no owner" : `process ${owner}`;
}

/** Whether all leases have an owner, and the number of owners. */
export function holdingInWords(leases: readonly Held[]): string {
  const held = leases.filter(({ owner, heldHere }) => heldHere || owner !== null);
  const owners = new Set(held.map(({ owner }) => owner));
  if (held.length === 0) {
    return "No process follows the change feed.";
  }
  const all = held.length === leases.length ? "Every lease is held" : "Some leases are free, the others are held";
  return `${all}, ${owners.size === 1 ? (held[0]?.heldHere === true ? "by this process" : "by another process") : `by ${owners.size} processes`}.`;
}

/** The longest shown part of the name of a feed range, in characters. */
const RANGE_LENGTH_MAX = 24;

/** The name of a feed range, without its middle where it is long. */
export function shortRange(range: string): string {
  const kept = RANGE_LENGTH_MAX / 2;
  return range.length <= RANGE_LENGTH_MAX ? range : `${range.slice(0, kept)}…${range.slice(-kept + 1)}`;
}
