/**
 * The servers under test: the one at ONEHOP_URL, or else two of the binary ONEHOP_BIN, each started on a free
 * port with demo data of its own, and stopped again. Each worker of the tests has one of the two.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { projectionsDrained, startServer, type Server } from "./server.js";

const DEMO_USERS = "20";

declare module "vitest" {
  interface ProvidedContext {
    /** The server of each worker, by the worker's number. */
    onehopUrls: string[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { ONEHOP_URL: address, ONEHOP_BIN: binary } = process.env;
  const workers = project.config.maxWorkers;
  if (address !== undefined && address !== "") {
    if (workers > 1) {
      throw new Error("One server has one worker: run the tests with --no-file-parallelism.");
    }
    const url = new URL(address).origin;
    await projectionsDrained(url);
    project.provide("onehopUrls", [url]);
    return () => Promise.resolve();
  }
  if (binary === undefined || binary === "") {
    throw new Error("Set ONEHOP_URL to a running server, or ONEHOP_BIN to a binary to start.");
  }

  const starts = await Promise.allSettled(Array.from({ length: workers }, () => startDemo(binary)));
  const demos = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const failure = starts.find((start) => start.status === "rejected");
  if (failure !== undefined) {
    await Promise.allSettled(demos.map((demo) => demo.end()));
    throw failure.reason;
  }
  project.provide(
    "onehopUrls",
    demos.map(({ url }) => url),
  );
  return async () => {
    await Promise.all(demos.map((demo) => demo.end()));
  };
}

/** A server on demo data of its own, which end with it. */
async function startDemo(binary: string): Promise<{ url: string; end: () => Promise<void> }> {
  const data = await mkdtemp(join(tmpdir(), "onehop-browser-"));
  const remove = (): Promise<void> => rm(data, { recursive: true, force: true });
  let server: Server | undefined;
  try {
    server = await startServer({ binary, data, arguments: ["--demo", "--demo-users", DEMO_USERS] });
    await projectionsDrained(server.url);
    const { url, stop } = server;
    return { url, end: () => stop().finally(remove) };
  } catch (error) {
    await server?.kill();
    await remove();
    throw error;
  }
}
