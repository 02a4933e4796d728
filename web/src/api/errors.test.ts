import { CombinedError } from "@urql/core";
import { expect, test } from "vitest";
import { fieldOf, messageAt } from "./errors.js";

function refused(extensions: Record<string, unknown>): CombinedError {
  return new CombinedError({
    graphQLErrors: [{ message: "title must not be blank; content must not be blank", extensions }],
  });
}

test("each invalid field has its own message", () => {
  const fields = [
    { field: "title", message: "title must not be blank" },
    { field: "content", message: "content must not be blank" },
  ];
  const error = refused({ code: "BAD_USER_INPUT", field: "title", fields });
  expect(fieldOf(error)).toBe("title");
  expect(messageAt(error, "title")).toBe("Title must not be blank.");
  expect(messageAt(error, "content")).toBe("Content must not be blank.");
  expect(messageAt(error, "postId")).toBeUndefined();
});

test("a refusal of one field has its message there", () => {
  const error = refused({ code: "CONFLICT", field: "username" });
  expect(messageAt(error, "username")).toBe("Title must not be blank; content must not be blank.");
  expect(messageAt(undefined, "username")).toBeUndefined();
});
