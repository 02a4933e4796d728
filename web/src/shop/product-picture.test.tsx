import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { ProductPicture } from "./ProductPicture.js";
import drawings from "./product-shapes.json";

/** The name and category of each sample: known and unknown words, plurals, and other scripts. */
const SAMPLES = [
  ["Anchor Bell, amber", "Bells"],
  ["Tide Gloves, black", "Gloves"],
  ["Wheels", ""],
  ["Frame & <Fork>", ""],
  ["Étui bleu", "Bags"],
  ["自転車", ""],
] as const;

describe("the picture of a product", () => {
  // `npx vitest run -u` writes the samples anew; then the server's pictures have to follow.
  test("is the one that the server draws", async () => {
    const drawn = SAMPLES.map(([name, category]) => ({ name, category, drawn: markupOf(name, category) }));
    await expect(`${JSON.stringify(drawn, null, 2)}\n`).toMatchFileSnapshot("product-picture-samples.json");
  });

  test("has the shape of its kind and the colour of its name", () => {
    expect(pathsOf("Anchor Bell, amber")).toEqual(pathsOf("Breeze Bell, navy"));
    expect(pathsOf("Bells")).toEqual(pathsOf("Anchor Bell, amber"));
    expect(pathsOf("Anchor Bell, amber")).not.toEqual(pathsOf("Anchor Horn, amber"));
    const [hue, saturation, lightness] = drawings.colours.amber;
    expect(markupOf("Anchor Bell, amber")).toContain(`hsl(${hue} ${saturation}% ${lightness}%)`);
  });

  test("has the shape of its category, or a parcel, without a known word", () => {
    expect(pathsOf("Étui", "Bags")).toEqual(pathsOf("Bag"));
    expect(pathsOf("Étui")).toEqual(pathsOf("parcel"));
  });

  test("is made of the tones of its palette alone", () => {
    const tones = new Set([...Object.keys(drawings.neutrals), "body", "shade", "light", "accent"]);
    for (const part of Object.values(drawings.shapes).flat()) {
      expect(tones).toContain(part.tone);
      expect(part.d).toMatch(/^[MLHVCSQAZmlhvcsqaz0-9 .-]+$/);
    }
  });
});

function markupOf(name: string, category = ""): string {
  return renderToStaticMarkup(<ProductPicture name={name} category={category} />);
}

function pathsOf(name: string, category = ""): string[] {
  return [...markupOf(name, category).matchAll(/ d="([^"]+)"/g)].map(([, path = ""]) => path);
}
