import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keptDraft, removeFormerDrafts, useDraft } from "./draft.js";

const empty = { title: "", content: "" };
let root: Root;
let shown: ReturnType<typeof useDraft<typeof empty>>;

function Form({ userId }: { userId: string | null }) {
  shown = useDraft(userId, "post", empty);
  return null;
}

function open(userId: string | null = "ada"): void {
  root = createRoot(document.createElement("div"));
  become(userId);
}

/** Another user signs in while the page is open. */
function become(userId: string | null): void {
  act(() => {
    root.render(<Form userId={userId} />);
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
    expect(keptDraft("ada", "post", empty)).toBeNull();
  });

  test.each(["{", "null", '{"fields":{"title":1}}', '"text"'])("stored as %j is none", (stored) => {
    localStorage.setItem("onehop:drafts:ada:post", stored);
    expect(keptDraft("ada", "post", empty)).toBeNull();
  });

  test("is shown to its user alone", () => {
    type({ title: "A secret" });
    become("bob");
    expect(shown.draft.fields).toEqual(empty);
    expect(shown.isKept).toBe(false);
    type({ title: "Of another" });
    become(null);
    expect(shown.draft.fields).toEqual(empty);
    become("ada");
    expect(shown.draft.fields.title).toBe("A secret");
    act(() => {
      shown.forget();
    });
    become("bob");
    expect(shown.draft.fields.title).toBe("Of another");
  });

  test("of an anonymous visitor is not kept", () => {
    localStorage.clear();
    become(null);
    type({ title: "Typed without an account" });
    expect(shown.draft.fields.title).toBe("Typed without an account");
    expect(localStorage.length).toBe(0);
  });

  test("of an earlier version, which has no user, is removed", () => {
    type({ title: "A secret" });
    localStorage.setItem("onehop:draft:post", "{}");
    removeFormerDrafts();
    expect(localStorage.getItem("onehop:draft:post")).toBeNull();
    expect(keptDraft("ada", "post", empty)?.fields.title).toBe("A secret");
  });
});
