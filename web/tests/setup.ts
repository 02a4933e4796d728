/**
 * The server under test: the one at ONEHOP_URL, or else the binary ONEHOP_BIN, started on a free port with
 * demo data of its own, and stopped again.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { projectionsDrained, startServer } from "./server.js";

const DEMO_USERS = "20";

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
  const remove = (): Promise<void> => rm(data, { recursive: true, force: true });
  try {
    const server = await startServer({ binary, data, arguments: ["--demo", "--demo-users", DEMO_USERS] });
    try {
      await projectionsDrained(server.url);
    } catch (error) {
      await server.kill();
      throw error;
    }
    project.provide("onehopUrl", server.url);
    return () => server.stop().finally(remove);
  } catch (error) {
    await remove();
    throw error;
  }
}
