import { Notice } from "../ui/Notice.js";
import type { Field, Merge, Texts } from "./merge.js";

const NAMES = { title: "title", content: "text", tags: "tags" } as const;
const VERBS = { title: "was", content: "was", tags: "were" } as const;

function wasOf(fields: readonly Field[]): string {
  const [first] = fields;
  return fields.length === 1 && first !== undefined ? VERBS[first] : "were";
}

/**
 * Changes from elsewhere while a post was being edited: the saved texts beside the typed ones, for the writer
 * to choose.
 */
export function Conflicts({
  merge: { conflicts, taken },
  saved,
  onKeep,
  onTake,
}: {
  merge: Merge;
  saved: Texts;
  onKeep: (field: Field) => void;
  onTake: (field: Field) => void;
}) {
  return (
    <>
      {conflicts.map((field) => (
        <Notice key={field} title={`The ${NAMES[field]} ${VERBS[field]} changed elsewhere`}>
          <p>This is the saved version. Your version is below.</p>
          <pre className="edit-saved" dir="auto" tabIndex={0} aria-label={`The saved ${NAMES[field]}`}>
            {saved[field]}
          </pre>
          <p className="edit-choice">
            <button
              type="button"
              className="button"
              onClick={() => {
                onKeep(field);
              }}
            >
              Keep my version
            </button>
            <button
              type="button"
              className="button button-plain"
              onClick={() => {
                onTake(field);
              }}
            >
              Use the saved version
            </button>
          </p>
        </Notice>
      ))}
      {taken.length > 0 && (
        <p role="status" className="edit-taken">
          The {taken.map((field) => NAMES[field]).join(" and the ")} {wasOf(taken)} changed elsewhere. You see the saved
          version.
        </p>
      )}
    </>
  );
}
