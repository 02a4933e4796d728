import { beforeEach, expect, test } from "vitest";
import { bodyWithoutRefusedPosition, forgetPosition, lastPosition, rememberPosition } from "./position.js";

beforeEach(() => {
  sessionStorage.clear();
});

test("the position of the last write is sent until it is reached", () => {
  expect(lastPosition()).toBeUndefined();
  rememberPosition({ position: "1" });
  expect(lastPosition()).toBe("1");
  forgetPosition("1");
  expect(lastPosition()).toBeUndefined();
});

test("a position that was reached does not take a later one with it", () => {
  rememberPosition({ position: "1" });
  rememberPosition({ position: "2" });
  forgetPosition("1");
  expect(lastPosition()).toBe("2");
});

test("a response that says no position changes nothing", () => {
  rememberPosition({ position: "1" });
  rememberPosition({});
  rememberPosition(undefined);
  expect(lastPosition()).toBe("1");
});

function refusal(field: string): Response {
  const errors = [{ message: "No.", extensions: { code: "BAD_USER_INPUT", field } }];
  return new Response(JSON.stringify({ errors }), { status: 400 });
}

test("a request whose position is refused is sent again without it", async () => {
  rememberPosition({ position: "1" });
  const body = JSON.stringify({ query: "{ a }", extensions: { operations: true, position: "1" } });
  const again = await bodyWithoutRefusedPosition(body, refusal("extensions.position"));
  expect(JSON.parse(again ?? "")).toEqual({ query: "{ a }", extensions: { operations: true } });
  expect(lastPosition()).toBeUndefined();
});

test("any other response is no reason to send a request again", async () => {
  rememberPosition({ position: "1" });
  const body = JSON.stringify({ query: "{ a }", extensions: { position: "1" } });
  for (const response of [refusal("title"), new Response("no JSON", { status: 400 }), new Response("{}")]) {
    expect(await bodyWithoutRefusedPosition(body, response)).toBeUndefined();
  }
  expect(lastPosition()).toBe("1");
});
