/**
 * The server under test: the one at ONEHOP_URL, or else the binary ONEHOP_BIN, started on a free port with
 * demo data of its own, and stopped with SIGTERM, which it must answer with exit code 0.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { TestProject } from "vitest/node";

const DEMO_USERS = "20";
const READY_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

declare module "vitest" {
  interface ProvidedContext {
    onehopUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { ONEHOP_URL: address, ONEHOP_BIN: binary } = process.env;
  if (address !== undefined && address !== "") {
    const url = new URL(address).origin;
    await projectionsDrained(url);
    project.provide("onehopUrl", url);
    return () => Promise.resolve();
  }
  if (binary === undefined || binary === "") {
    throw new Error("Set ONEHOP_URL to a running server, or ONEHOP_BIN to a binary to start.");
  }

  const data = await mkdtemp(join(tmpdir(), "onehop-browser-"));
  const server = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--data", data, "--demo"], {
    env: { ...process.env, ONEHOP_DEMO_USERS: DEMO_USERS },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const teardown = async (): Promise<void> => {
    try {
      await stopped(server);
    } finally {
      await rm(data, { recursive: true, force: true });
    }
  };
  try {
    const url = await readyUrl(server);
    await projectionsDrained(url);
    project.provide("onehopUrl", url);
  } catch (error) {
    await teardown().catch(() => undefined);
    throw error;
  }
  return teardown;
}

/** The address in the ready line. Reads on afterwards, so that the server never blocks on a full pipe. */
function readyUrl(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (server.stdout === null) {
      reject(new Error("The server's output is not piped."));
      return;
    }
    createInterface(server.stdout).on("line", (line) => {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (url !== undefined) {
        resolve(url);
      }
    });
    server.once("error", reject);
    server.once("exit", (code) => {
      reject(new Error(`The server ended with ${String(code)} before it was ready.`));
    });
    AbortSignal.timeout(READY_TIMEOUT_MS).addEventListener("abort", () => {
      reject(new Error(`The server wrote no ready line within ${READY_TIMEOUT_MS} ms.`));
    });
  });
}

/** The demo data is written like any other: the pages show all of it once the change feed has drained. */
async function projectionsDrained(url: string): Promise<void> {
  const deadline = Date.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: "{ projections { name pendingChanges } }" }),
    });
    const { data } = (await response.json()) as {
      data: { projections: { name: string; pendingChanges: number }[] };
    };
    const pending = data.projections.filter(({ pendingChanges }) => pendingChanges > 0);
    if (pending.length === 0) {
      return;
    }
    if (Date.now() > deadline) {
      throw new Error(`Still pending: ${JSON.stringify(pending)}`);
    }
    await delay(50);
  }
}

async function stopped(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) {
    throw new Error(`The server had already ended with ${server.exitCode}.`);
  }
  const exit = once(server, "exit", { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) });
  server.kill("SIGTERM");
  const [code, signal] = (await exit.catch((error: unknown) => {
    server.kill("SIGKILL");
    throw error;
  })) as [number | null, NodeJS.Signals | null];
  if (code !== 0) {
    throw new Error(`The server ended with ${String(code ?? signal)} on SIGTERM.`);
  }
}
