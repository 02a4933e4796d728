/** Three-way merge of an edit: the writer's base, the typed text, and the server's present text. */

/** The editable parts of a post. The tags are one line. */
export const FIELDS = ["title", "content", "tags"] as const;
export type Field = (typeof FIELDS)[number];
export type Texts = Record<Field, string>;

/** A draft of an edit: the typed text, beside the text that it began with. */
export type EditDraft = Record<Field | "baseTitle" | "baseContent" | "baseTags", string>;

const BASES = { title: "baseTitle", content: "baseContent", tags: "baseTags" } as const;

/** An edit that nothing was typed in. */
export function editOf(saved: Texts): EditDraft {
  const { title, content, tags } = saved;
  return { title, content, tags, baseTitle: title, baseContent: content, baseTags: tags };
}

export interface Merge {
  /** The content of the form: the typed text, and the server's text where nothing was typed. */
  texts: Texts;
  /** Fields that were changed here and elsewhere, and that the writer has to choose for. */
  conflicts: readonly Field[];
  /** Fields that were changed elsewhere alone. */
  taken: readonly Field[];
}

export function merged(draft: EditDraft, saved: Texts): Merge {
  const isTyped = (field: Field): boolean => draft[field] !== draft[BASES[field]];
  const isElsewhere = (field: Field): boolean => saved[field] !== draft[BASES[field]] && saved[field] !== draft[field];
  const texts = { title: "", content: "", tags: "" };
  FIELDS.forEach((field) => {
    texts[field] = isTyped(field) ? draft[field] : saved[field];
  });
  return {
    texts,
    conflicts: FIELDS.filter((field) => isTyped(field) && isElsewhere(field)),
    taken: FIELDS.filter((field) => !isTyped(field) && isElsewhere(field)),
  };
}

/** The fields that differ from the server's; no others are sent. */
export function changesOf(texts: Texts, saved: Texts): Partial<Texts> {
  return Object.fromEntries(
    FIELDS.filter((field) => texts[field] !== saved[field]).map((field) => [field, texts[field]]),
  );
}

/** The writer has seen the server's text of a field, and keeps their own. */
export function keptMine(field: Field, saved: Texts): Partial<EditDraft> {
  return { [BASES[field]]: saved[field] };
}

/** The writer takes the server's text of a field. */
export function takenSaved(field: Field, saved: Texts): Partial<EditDraft> {
  return { [field]: saved[field], [BASES[field]]: saved[field] };
}
