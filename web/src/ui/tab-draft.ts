import { useState } from "react";

const PREFIX = "onehop:tab-draft:";

/** Typed text of a form before its user is known: kept over a reload, and gone with the browser tab. */
export function useTabDraft<Fields extends Record<string, string>>(
  name: string,
  empty: Fields,
): { draft: Fields; change: (fields: Partial<Fields>) => void; forget: () => void } {
  const key = PREFIX + name;
  const [draft, setDraft] = useState(() => ({ ...empty, ...read(key, empty) }));
  return {
    draft,
    change(fields) {
      const changed = { ...draft, ...fields };
      setDraft(changed);
      try {
        sessionStorage.setItem(key, JSON.stringify(changed));
      } catch {
        // A full storage keeps no draft; typed text stays in the page.
      }
    },
    forget() {
      sessionStorage.removeItem(key);
    },
  };
}

function read<Fields extends Record<string, string>>(key: string, empty: Fields): Partial<Fields> {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? "{}") as Record<string, unknown>;
    const texts = Object.keys(empty).filter((field) => typeof stored[field] === "string");
    return Object.fromEntries(texts.map((field) => [field, stored[field]])) as Partial<Fields>;
  } catch {
    return {};
  }
}
