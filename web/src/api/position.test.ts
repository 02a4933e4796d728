import { beforeEach, expect, test } from "vitest";
import { forgetPosition, lastPosition, rememberPosition } from "./position.js";

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
