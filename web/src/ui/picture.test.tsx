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

  // `npx vitest run -u` writes the samples anew; then the server's pictures have to follow.
  test("is the one that the server draws", async () => {
    const ids = Array.from({ length: 24 }, (_, index) => `thing ${index}`);
    const drawn = Object.fromEntries(ids.map((id) => [id, shapesOf(id)]));
    await expect(`${JSON.stringify(drawn, null, 2)}\n`).toMatchFileSnapshot("picture-samples.json");
  });

  test("is made of finite numbers for every motif", () => {
    for (let index = 0; index < 60; index += 1) {
      const markup = renderToStaticMarkup(<Picture of={`thing ${index}`} />);
      expect(markup).not.toMatch(/NaN|undefined|Infinity/);
    }
  });
});

/** The shapes of a picture, without its frame. */
function shapesOf(id: string): string {
  return renderToStaticMarkup(<Picture of={id} />).replace(/^<svg[^>]*>|<\/svg>$/g, "");
}

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
