/**
 * Seeded pseudo-random numbers: a hash of a text (FNV-1a) and a generator from it (mulberry32). The same text
 * gives the same picture on every device.
 */

/** The 32-bit hash of a text. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** A generator of numbers from 0 to 1, always the same for one text. */
export function seeded(text: string): () => number {
  let state = hashOf(text);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
