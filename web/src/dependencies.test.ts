/**
 * Dependencies: the imports of the page are installed with it, and development dependencies are not part of
 * it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, ".");
/** An import or export that leaves something in the program: types do not. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?"([^".][^"]*)"/gms;

function importsOf(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), "utf8");
  return [...text.matchAll(IMPORT)].map(([, module]) => packageOf(module ?? ""));
}

function packageOf(module: string): string {
  return module.split("/", module.startsWith("@") ? 2 : 1).join("/");
}

test("every package that the page imports is a dependency of it", () => {
  const manifest = JSON.parse(readFileSync(join(SOURCE, "../package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" });
  const ofPage = files.filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file));
  const imported = new Set(ofPage.flatMap(importsOf));
  expect(imported.size).toBeGreaterThan(5);
  expect([...imported].filter((name) => !(name in manifest.dependencies)).sort()).toEqual([]);
});
