import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keptDraft, useDraft } from "./draft.js";

const empty = { title: "", content: "" };
let root: Root;
let shown: ReturnType<typeof useDraft<typeof empty>>;

function Form() {
  shown = useDraft("post", empty);
  return null;
}

function open(): void {
  root = createRoot(document.createElement("div"));
  act(() => {
    root.render(<Form />);
  });
}

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  localStorage.clear();
  open();
});

afterEach(() => {
  act(() => {
    root.unmount();
  });
});

function type(fields: Partial<typeof empty>): void {
  act(() => {
    shown.change(fields);
  });
}

describe("a draft", () => {
  test("is there again when the page is opened again, with the key of its submission", () => {
    type({ title: "Hello" });
    type({ content: "World" });
    const { idempotencyKey } = shown.draft;
    act(() => {
      root.unmount();
    });
    open();
    expect(shown.draft).toEqual({ fields: { title: "Hello", content: "World" }, idempotencyKey });
    expect(shown.isKept).toBe(true);
  });

  test("that changes is another submission", () => {
    type({ title: "Hello" });
    const before = shown.draft.idempotencyKey;
    type({ title: "Hello!" });
    expect(shown.draft.idempotencyKey).not.toBe(before);
  });

  test("that was sent is forgotten, and what comes next is another submission", () => {
    type({ title: "Hello" });
    const before = shown.draft.idempotencyKey;
    act(() => {
      shown.forget();
    });
    expect(shown.draft.fields).toEqual(empty);
    expect(shown.draft.idempotencyKey).not.toBe(before);
    expect(keptDraft("post", empty)).toBeNull();
  });

  test.each(["{", "null", '{"fields":{"title":1}}', '"text"'])("stored as %j is none", (stored) => {
    localStorage.setItem("onehop:draft:post", stored);
    expect(keptDraft("post", empty)).toBeNull();
  });
});
