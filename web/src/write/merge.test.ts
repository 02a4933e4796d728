import { describe, expect, test } from "vitest";
import { changesOf, editOf, keptMine, merged, takenSaved, type Texts } from "./merge.js";

const began: Texts = { title: "Title", content: "Text", tags: "rust" };

describe("an edit", () => {
  test("sends what was typed alone", () => {
    const draft = { ...editOf(began), title: "New title" };
    const { texts, conflicts, taken } = merged(draft, began);
    expect([conflicts, taken]).toEqual([[], []]);
    expect(changesOf(texts, began)).toEqual({ title: "New title" });
  });

  test("takes what was changed elsewhere where nothing was typed", () => {
    const saved = { ...began, content: "Text from elsewhere" };
    const { texts, conflicts, taken } = merged({ ...editOf(began), title: "New title" }, saved);
    expect([conflicts, taken]).toEqual([[], ["content"]]);
    expect(texts).toEqual({ title: "New title", content: "Text from elsewhere", tags: "rust" });
    expect(changesOf(texts, saved)).toEqual({ title: "New title" });
  });

  test("that typed the same as was saved elsewhere has no conflict", () => {
    const saved = { ...began, title: "New title" };
    const { texts, conflicts, taken } = merged({ ...editOf(began), title: "New title" }, saved);
    expect([conflicts, taken, changesOf(texts, saved)]).toEqual([[], [], {}]);
  });

  test("of a text that was changed elsewhere, too, is a conflict until the writer chooses", () => {
    const saved = { ...began, content: "Text from elsewhere" };
    const draft = { ...editOf(began), content: "My text" };
    expect(merged(draft, saved)).toEqual({
      texts: { title: "Title", content: "My text", tags: "rust" },
      conflicts: ["content"],
      taken: [],
    });

    const mine = merged({ ...draft, ...keptMine("content", saved) }, saved);
    expect([mine.conflicts, changesOf(mine.texts, saved)]).toEqual([[], { content: "My text" }]);
    const theirs = merged({ ...draft, ...takenSaved("content", saved) }, saved);
    expect([theirs.conflicts, changesOf(theirs.texts, saved)]).toEqual([[], {}]);
    const again = merged({ ...draft, ...keptMine("content", saved) }, { ...saved, content: "Changed once more" });
    expect(again.conflicts).toEqual(["content"]);
  });
});
