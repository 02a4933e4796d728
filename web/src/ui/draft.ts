/** What is being typed, kept on this device until it is sent: across reloads, sign-ins and closed tabs. */
import { useState } from "react";
import { randomKey } from "./random-key.js";

const PREFIX = "onehop:draft:";

export interface Draft<Fields> {
  fields: Fields;
  /** Makes a repeat of the same submission harmless. A changed text is another submission. */
  idempotencyKey: string;
}

/** A draft under a name, or a fresh one with these fields. */
export function useDraft<Fields extends Record<string, string>>(
  name: string,
  empty: Fields,
): { draft: Draft<Fields>; change: (fields: Partial<Fields>) => void; forget: () => void; isKept: boolean } {
  const [draft, setDraft] = useState<Draft<Fields>>(() => keptDraft(name, empty) ?? fresh(empty));
  const [isKept, setIsKept] = useState(() => keptDraft(name, empty) !== null);
  return {
    draft,
    isKept,
    change(fields) {
      const changed = fresh({ ...draft.fields, ...fields });
      keep(name, changed);
      setDraft(changed);
      setIsKept(true);
    },
    forget() {
      localStorage.removeItem(PREFIX + name);
      setDraft(fresh(empty));
      setIsKept(false);
    },
  };
}

export function keptDraft<Fields extends Record<string, string>>(name: string, empty: Fields): Draft<Fields> | null {
  try {
    const { fields, idempotencyKey } = JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") as Draft<Fields>;
    const isDraft = Object.keys(empty).every((field) => typeof fields[field] === "string");
    return isDraft && typeof idempotencyKey === "string" ? { fields, idempotencyKey } : null;
  } catch {
    return null;
  }
}

function keep<Fields>(name: string, draft: Draft<Fields>): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(draft));
  } catch {
    // A full storage keeps no draft; what is typed stays in the page.
  }
}

function fresh<Fields>(fields: Fields): Draft<Fields> {
  return { fields, idempotencyKey: randomKey() };
}
