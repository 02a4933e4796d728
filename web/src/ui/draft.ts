/**
 * Drafts: a user's unsent text, kept on this device until it is sent, across reloads, sign-ins and closed
 * tabs. A draft belongs to its user: it stays after signing out, and is never shown to another user.
 */
import { useState } from "react";
import { randomKey } from "./random-key.js";

const PREFIX = "onehop:drafts:";
/** Where an earlier version kept drafts without their user. */
const FORMER_PREFIX = "onehop:draft:";

export interface Draft<Fields> {
  fields: Fields;
  /** Makes a repeat of the same submission harmless. A changed text is another submission. */
  idempotencyKey: string;
}

interface Shown<Fields> {
  key: string | null;
  draft: Draft<Fields>;
  isKept: boolean;
}

/** A user's draft under a name, or a fresh one with these fields. Without a user nothing is kept. */
export function useDraft<Fields extends Record<string, string>>(
  userId: string | null,
  name: string,
  empty: Fields,
): { draft: Draft<Fields>; change: (fields: Partial<Fields>) => void; forget: () => void; isKept: boolean } {
  const key = userId === null ? null : storageKey(userId, name);
  const [shown, setShown] = useState(() => opened(key, empty));
  let current = shown;
  if (shown.key !== key) {
    // Another user has signed in, perhaps in another tab.
    current = opened(key, empty);
    setShown(current);
  }
  const { draft, isKept } = current;
  return {
    draft,
    isKept,
    change(fields) {
      const changed = fresh({ ...draft.fields, ...fields });
      keep(key, changed);
      setShown({ key, draft: changed, isKept: true });
    },
    forget() {
      if (key !== null) {
        localStorage.removeItem(key);
      }
      setShown({ key, draft: fresh(empty), isKept: false });
    },
  };
}

/** The draft that is kept, or null. */
export function keptDraft<Fields extends Record<string, string>>(
  userId: string,
  name: string,
  empty: Fields,
): Draft<Fields> | null {
  return read(storageKey(userId, name), empty);
}

/** Removes drafts without a known owner. */
export function removeFormerDrafts(): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(FORMER_PREFIX)) {
      localStorage.removeItem(key);
    }
  }
}

function storageKey(userId: string, name: string): string {
  return `${PREFIX}${userId}:${name}`;
}

function opened<Fields extends Record<string, string>>(key: string | null, empty: Fields): Shown<Fields> {
  const kept = key === null ? null : read(key, empty);
  return { key, draft: kept ?? fresh(empty), isKept: kept !== null };
}

function read<Fields extends Record<string, string>>(key: string, empty: Fields): Draft<Fields> | null {
  try {
    const { fields, idempotencyKey } = JSON.parse(localStorage.getItem(key) ?? "null") as Draft<Fields>;
    // A draft of an earlier version lacks the fields that are new since.
    const known = { ...empty, ...fields };
    const isDraft = Object.keys(fields).length > 0 && Object.values(known).every((text) => typeof text === "string");
    return isDraft && typeof idempotencyKey === "string" ? { fields: known, idempotencyKey } : null;
  } catch {
    return null;
  }
}

function keep<Fields>(key: string | null, draft: Draft<Fields>): void {
  if (key === null) {
    return;
  }
  try {
    localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // A full storage keeps no draft; typed text stays in the page.
  }
}

function fresh<Fields>(fields: Fields): Draft<Fields> {
  return { fields, idempotencyKey: randomKey() };
}
