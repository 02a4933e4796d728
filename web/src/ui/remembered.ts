import { useState } from "react";

const counts = new Map<string, number>();

/**
 * The number of shown pages of a list; remembered, so that going back finds the list as long as it was left.
 */
export function useShownPages(list: string): [number, () => void] {
  const [shown, setShown] = useState(counts.get(list) ?? 1);
  return [
    shown,
    () => {
      counts.set(list, shown + 1);
      setShown(shown + 1);
    },
  ];
}
