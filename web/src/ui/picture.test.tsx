import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { Avatar } from "./Avatar.js";
import { Picture } from "./Picture.js";
import { hashOf, seeded } from "./seeded.js";

describe("a generated picture", () => {
  test("is the same for the same thing, and another for another", () => {
    const one = renderToStaticMarkup(<Picture of="bell" />);
    expect(renderToStaticMarkup(<Picture of="bell" />)).toBe(one);
    expect(renderToStaticMarkup(<Picture of="horn" />)).not.toBe(one);
  });

  test("is made of finite numbers for every motif", () => {
    for (let index = 0; index < 60; index += 1) {
      const markup = renderToStaticMarkup(<Picture of={`thing ${index}`} />);
      expect(markup).not.toMatch(/NaN|undefined|Infinity/);
    }
  });
});

describe("an avatar", () => {
  test.each([
    ["ada", "A"],
    ["_éva", "É"],
    ["…", "?"],
  ])("of %s shows %s", (name, initial) => {
    expect(renderToStaticMarkup(<Avatar id="u" name={name} />)).toContain(`>${initial}</text>`);
  });
});

test("seeded numbers lie from 0 to 1 and differ by seed", () => {
  const random = seeded("a");
  const numbers = Array.from({ length: 100 }, random);
  expect(numbers.every((each) => each >= 0 && each < 1)).toBe(true);
  expect(new Set(numbers).size).toBeGreaterThan(90);
  expect(hashOf("a")).not.toBe(hashOf("b"));
});
