/**
 * Runs a command beside a server of its own: node scripts/with-server.js BINARY COMMAND... The binary serves demo data on a
 * free port, which the command finds in ONEHOP_URL; both are gone afterwards.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const DEMO_USERS = "50";
/** Between two looks at the projections, in milliseconds. */
const LOOK_MS = 200;

const [binary, command, ...rest] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "onehop-web-"));
const server = spawn(
  binary,
  ["serve", "--demo", "--demo-users", DEMO_USERS, "--listen", "127.0.0.1:0", "--data", data],
  {
    stdio: ["ignore", "pipe", "inherit"],
  },
);
try {
  const url = await new Promise((resolve, reject) => {
    createInterface(server.stdout).on("line", (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (found !== undefined) {
        resolve(found);
      }
    });
    server.once("exit", () => {
      reject(new Error("The server ended before it was ready."));
    });
  });
  while ((await pendingChanges(url)) > 0) {
    await delay(LOOK_MS);
  }
  const child = spawn(command, rest, { stdio: "inherit", env: { ...process.env, ONEHOP_URL: url } });
  const [code] = await once(child, "exit");
  process.exitCode = code ?? 1;
} finally {
  server.kill("SIGTERM");
  if (server.exitCode === null) {
    await once(server, "exit");
  }
  rmSync(data, { recursive: true, force: true });
}

async function pendingChanges(url) {
  const response = await fetch(`${url}/operations/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "{ projections { pendingChanges } }" }),
  });
  const { data: answer } = await response.json();
  return answer.projections.reduce((sum, projection) => sum + projection.pendingChanges, 0);
}
