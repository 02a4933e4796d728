const DAY_MS = 86_400_000;

/** Some of a list, spread over it, and others each day. */
export function chosenOfDay<Item>(items: readonly Item[], count: number, now: Date): Item[] {
  if (items.length <= count) {
    return [...items];
  }
  const day = Math.floor(now.getTime() / DAY_MS);
  const stride = Math.floor(items.length / count);
  return Array.from({ length: count }, (_, index) => items[(day + index * stride) % items.length] as Item);
}
