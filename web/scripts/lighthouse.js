/**
 * Lighthouse on home, a post and the comparison, with its own defaults of a slow phone; fails below the scores that the
 * pages must have. The server is at ONEHOP_URL. Lighthouse comes by npx, since it is larger than all else here.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The last that runs on Node 20. */
const LIGHTHOUSE = "lighthouse@12";
const SCORES_MIN = { performance: 95, accessibility: 100, "best-practices": 100, seo: 95 };

const url = process.env.ONEHOP_URL ?? "http://127.0.0.1:8080";
const response = await fetch(`${url}/graphql`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ query: "{ feed(first: 50) { nodes { id commentCount } } }" }),
});
const { data } = await response.json();
const post = data.feed.nodes.toSorted((a, b) => b.commentCount - a.commentCount)[0];
const folder = mkdtempSync(join(tmpdir(), "onehop-lighthouse-"));
for (const path of ["/", `/posts/${post.id}`, "/compare"]) {
  const report = join(folder, "report.json");
  const flags =
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
  execFileSync(
    "npx",
    ["--yes", LIGHTHOUSE, url + path, "--quiet", "--output=json", `--output-path=${report}`, `--chrome-flags=${flags}`],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? "/usr/bin/chromium" },
    },
  );
  const { categories, audits } = JSON.parse(readFileSync(report, "utf8"));
  const scores = Object.fromEntries(
    Object.keys(SCORES_MIN).map((name) => [name, Math.round(categories[name].score * 100)]),
  );
  console.log(path, JSON.stringify(scores));
  for (const [name, least] of Object.entries(SCORES_MIN)) {
    if (scores[name] < least) {
      process.exitCode = 1;
      const missed = categories[name].auditRefs.filter(
        ({ id, weight }) => weight > 0 && audits[id].score !== null && audits[id].score < 1,
      );
      console.error(
        `  ${name} ${scores[name]}, not ${least}: ${missed.map(({ id }) => `${id} ${audits[id].displayValue ?? ""}`).join("; ")}`,
      );
    }
  }
}
rmSync(folder, { recursive: true });
