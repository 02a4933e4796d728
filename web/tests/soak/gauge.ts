/** Resource usage of the server's process, from `/proc`. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const QUIET_POLL_MS = 50;
const QUIET_TIMEOUT_MS = 30_000;

export interface Gauge {
  /** Memory that is in use, MiB. */
  memoryMib: number;
  files: number;
  sockets: number;
}

export async function gauge(pid: number): Promise<Gauge> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (resident === undefined) {
    throw new Error("The process reports no memory.");
  }
  const names = await readdir(`/proc/${pid}/fd`);
  // A descriptor may be closed between the two calls.
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
  const sockets = targets.filter((target) => target.startsWith("socket:")).length;
  return { memoryMib: Math.round(Number(resident) / 1024), files: targets.length - sockets, sockets };
}

/** Comes when the process has this many sockets, which it must have soon after its clients have left. */
export async function quiet(pid: number, sockets: number): Promise<Gauge> {
  const deadline = Date.now() + QUIET_TIMEOUT_MS;
  for (;;) {
    const taken = await gauge(pid);
    if (taken.sockets <= sockets) {
      return taken;
    }
    if (Date.now() > deadline) {
      throw new Error(`${taken.sockets} sockets are open where there were ${sockets}.`);
    }
    await delay(QUIET_POLL_MS);
  }
}
