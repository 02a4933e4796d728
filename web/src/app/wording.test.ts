/**
 * Wording: the pages of readers and shoppers speak of posts and products, and never of the database behind
 * them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "..");
/** The folders of the pages for readers and shoppers, and their shared parts. */
const FOLDERS = [
  "account",
  "api",
  "app",
  "feed",
  "not-found",
  "post",
  "moderation",
  "profile",
  "rename",
  "settings",
  "shop",
  "ui",
  "write",
];
/** Shown while costs are shown, and never otherwise. */
const BEHIND_THE_SWITCH = ["api/request-charge.ts", "shop/RankingCosts.tsx"];
/** Words of the database. */
const DATABASE =
  /\bpartitions?\b|\bprojections?\b|\bchange feed\b|\bread models?\b|\bdata model|\bmodelled\b|\brequest (unit|charge)s?\b|\bRU\b|\bone hop\b|\bcontainers?\b|\bcop(y|ies) (looked|carry|that)\b/i;
/** The server's point of view, in place of the reader's. */
const UNIDIOMATIC =
  /\b(of it\.|looked at|You are (new|a customer)|Rename yourself|Keep the|does not sell|settings name|There was no answer|without HTML|the moment in which|See the catalogue|There is no such)\b/;

/** Texts of a component, and of a module that words them: JSX text, and literals with a space. */
function textsOf(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), "utf8");
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) {
      texts.push(node.text);
    } else if (ts.isTemplateExpression(node)) {
      texts.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…"));
    }
    if (!ts.isImportDeclaration(node)) {
      ts.forEachChild(node, visit);
    }
  };
  visit(parsed);
  return texts.map((each) => each.replaceAll(/\s+/g, " ").trim()).filter((each) => /\S \S/.test(each));
}

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(SOURCE, folder), { encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|generated)\.tsx?$/.test(name))
    .map((name) => `${folder}/${name}`),
).filter((file) => !BEHIND_THE_SWITCH.includes(file));

test.each(files)("%s speaks to readers and shoppers", (file) => {
  const wrong = textsOf(file).filter((text) => DATABASE.test(text) || UNIDIOMATIC.test(text));
  expect(wrong).toEqual([]);
});

test("the texts of a page are found", () => {
  expect(textsOf("feed/FeedPage.tsx")).toContain("No posts yet");
  expect(textsOf("shop/AddToCart.tsx")).toContain("Add to cart");
});

test("the page that is shown before its script speaks to readers", () => {
  const html = readFileSync(join(SOURCE, "../index.html"), "utf8");
  expect(html).not.toMatch(DATABASE);
});
