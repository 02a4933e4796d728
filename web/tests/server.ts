/** A process of the binary under test, on a data directory of the caller's. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const READY_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

export interface ServerOptions {
  binary: string;
  data: string;
  /** 0, or nothing, for a free one. */
  port?: number;
  /** Further arguments of `onehop serve`. */
  arguments?: string[];
  /** The descriptor of a file for its log, which otherwise goes where ours goes. */
  log?: number;
}

export interface Server {
  url: string;
  /** The address with the operator key; null where none was printed. */
  browse: string | null;
  pid: number;
  /** Stops it with SIGTERM, which it must answer with exit code 0. */
  stop: () => Promise<void>;
  /** Kills it as `kill -9` does. */
  kill: () => Promise<void>;
}

/** Tests write, sign up and sign in faster than people do, all from one address. */
const NO_RATE_LIMITS = {
  ONEHOP_WRITE_LIMITS_PERCENT: "0",
  ONEHOP_SIGN_INS_PER_ADDRESS: "0",
  ONEHOP_SIGN_INS_PER_USERNAME: "0",
  ONEHOP_SIGN_UPS_PER_ADDRESS: "0",
  ONEHOP_DRAIN_SECONDS: "0",
};

/** Starts the binary, and comes when it is ready. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { binary, data, port = 0, log = "inherit" } = options;
  const listen = `127.0.0.1:${port}`;
  const server = spawn(binary, ["serve", "--listen", listen, "--data", data, ...(options.arguments ?? [])], {
    stdio: ["ignore", "pipe", log],
    env: { ...process.env, ...NO_RATE_LIMITS },
  });
  try {
    return {
      ...(await readyLines(server)),
      pid: server.pid ?? 0,
      stop: () => stopped(server),
      kill: () => killed(server),
    };
  } catch (error) {
    await killed(server);
    throw error;
  }
}

/**
 * The address in the ready line, and the one with the operator key, which is printed before it. Reads on
 * afterwards, so that the server never blocks on a full pipe.
 */
function readyLines(server: ChildProcess): Promise<{ url: string; browse: string | null }> {
  return new Promise((resolve, reject) => {
    if (server.stdout === null) {
      reject(new Error("The server's output is not piped."));
      return;
    }
    let browse: string | null = null;
    createInterface(server.stdout).on("line", (line) => {
      browse ??= /http:\S+#key=\S+/.exec(line)?.[0] ?? null;
      const url = line.includes("#key=") ? undefined : /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (url !== undefined) {
        resolve({ url, browse });
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

/** Resolves when the read models show all writes. */
export async function projectionsDrained(url: string): Promise<void> {
  const deadline = Date.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/operations/graphql`, {
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

function ended({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function stopped(server: ChildProcess): Promise<void> {
  if (ended(server)) {
    throw new Error(`The server had already ended with ${String(server.exitCode ?? server.signalCode)}.`);
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

async function killed(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || ended(server)) {
    return;
  }
  const exit = once(server, "exit");
  server.kill("SIGKILL");
  await exit;
}
