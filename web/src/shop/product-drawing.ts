/**
 * Drawings of products: shapes and colours by words of a name. `product-shapes.json` has both; the server
 * draws from the same file (`src/api/page_contents/product_pictures.rs`), and `product-picture-samples.json`
 * has samples for both.
 */
import drawings from "./product-shapes.json";
import { hashOf } from "../ui/seeded.js";

/** A part of a drawing: a path that is filled, or a line of this width. */
export interface DrawnPart {
  d: string;
  fill: string;
  line?: number;
}

export interface Drawing {
  /** The colour around the product. */
  halo: string;
  parts: readonly DrawnPart[];
}

interface ShapePart {
  /** The colour of a palette, by its name. */
  tone: string;
  d: string;
  line?: number;
}

/** Hue in degrees, saturation and lightness in percent. */
type Hsl = readonly number[];

const SHAPES = new Map<string, readonly ShapePart[]>(Object.entries(drawings.shapes));
const COLOURS = new Map<string, Hsl>(Object.entries(drawings.colours));

/** The drawing of a product by its name, or else by the name of its category. */
export function productDrawing(name: string, category: string): Drawing {
  const colours = paletteOf(name);
  const shape = shapeOf(name) ?? shapeOf(category) ?? SHAPES.get("parcel") ?? [];
  return {
    halo: colours.get("light") ?? "",
    parts: shape.map(({ tone, ...part }) => ({ ...part, fill: colours.get(tone) ?? "" })),
  };
}

/** The shape of the first word that names one, in the singular or in the plural. */
function shapeOf(name: string): readonly ShapePart[] | undefined {
  const shapes = wordsOf(name).map((word) => SHAPES.get(word) ?? SHAPES.get(word.replace(/s$/, "")));
  return shapes.find((shape) => shape !== undefined);
}

function paletteOf(name: string): Map<string, string> {
  const hash = hashOf(name);
  const named = wordsOf(name).map((word) => COLOURS.get(word));
  const [hue = 0, saturation = 0, lightness = 0] = named.find((colour) => colour !== undefined) ?? [hash % 360, 46, 46];
  const [accentHue = 0, accentSaturation = 0, accentLightness = 0] =
    drawings.accents[hash % drawings.accents.length] ?? [];
  return new Map([
    ...Object.entries(drawings.neutrals),
    ["body", hsl(hue, saturation, lightness)],
    ["shade", hsl(hue, saturation, Math.max(lightness - 11, 8))],
    ["light", hsl(hue, saturation, Math.min(lightness + 16, 94))],
    ["accent", hsl(accentHue, accentSaturation, accentLightness)],
  ]);
}

function hsl(hue: number, saturation: number, lightness: number): string {
  return `hsl(${hue} ${saturation}% ${lightness}%)`;
}

/** The words of a name in small Latin letters. */
function wordsOf(name: string): string[] {
  return (name.match(/[A-Za-z]+/g) ?? []).map((word) => word.toLowerCase());
}
