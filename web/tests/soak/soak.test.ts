/**
 * The whole server under valid, invalid and hostile traffic for SOAK_MINUTES, while it is stopped and killed
 * again and again. SOAK_SEED chooses the acts of its clients, but not their times. A life of the server has
 * SOAK_ROUNDS of ten seconds. At the end of each round all clients leave, and it may have no more sockets
 * than when it was born; at the end of its life no more memory than in its first half.
 */
import { execFile } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startServer, type Server } from "../server.js";
import { Blog, VALID } from "./blog.js";
import { Dice } from "./dice.js";
import { gauge, quiet, type Gauge } from "./gauge.js";
import { HOSTILE, INVALID } from "./hostile.js";
import { Wire } from "./wire.js";

const { ONEHOP_BIN: binary = "", SOAK_MINUTES = "5", SOAK_ROUNDS = "6", SOAK_SEED = "1" } = process.env;

const ROUND_MS = 10_000;
const CLIENTS = 16;
/** Of a hundred acts. */
const VALID_PERCENT = 70;
const INVALID_PERCENT = 15;
const SUBSCRIBERS = 50;
/** The memory of a server with a small cache, at any time. */
const MEMORY_MIB_MAX = 600;
/** The permitted growth of a life's memory beyond its first half, in which caches and buffers fill, MiB. */
const MEMORY_GROWTH_MIB_MAX = 64;
/** The rounds of a life whose caches and buffers are full by its middle. */
const ROUNDS_OF_GROWTH = 24;
/** A cache that is full before a life is half over: a cache that still fills looks like a leak. */
const SMALL_CACHE = ["--cache-mib", "16"];
/** All clients have one address, and new accounts spend its quota as well: ten times the default. */
const WIDE_QUOTA = ["--caller-ru-per-second", "50000"];
/** Files that the store opens and keeps, beyond the first round's. */
const FILES_GROWTH_MAX = 200;
const FIRST_POSTS = 20;
const DEATH_AFTER_MS_MAX = 3_000;

test("the server lives through everything and forgets nothing", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "onehop-soak-"));
  const [data, logFile] = [join(scratch, "data"), join(scratch, "log")];
  const log = openSync(logFile, "a");
  const dice = new Dice(Number(SOAK_SEED));
  const soak = new Soak(dice);
  const end = Date.now() + Number(SOAK_MINUTES) * 60_000;
  let server: Server | undefined;
  try {
    for (let life = 1; Date.now() < end; life += 1) {
      server = await startServer({ binary, data, log, arguments: [...SMALL_CACHE, ...WIDE_QUOTA] });
      await soak.live(server, life);
    }
    await server?.kill();
    const { stdout } = await promisify(execFile)(binary, ["verify", "--data", data]);
    console.log(stdout.trim());
    expect(stdout).toContain("clean");
    const lines = (await readFile(logFile, "utf8")).split("\n");
    expect(lines.filter((line) => /panicked| ERROR /.test(line))).toEqual([]);
    expect(soak.heard).toBeGreaterThan(0);
  } finally {
    await server?.kill();
    closeSync(log);
    await rm(scratch, { recursive: true });
  }
});

class Soak {
  readonly #dice: Dice;
  readonly #blog = new Blog();
  /** Events of subscriptions. */
  heard = 0;
  #refusals = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** From after the birth of a server to its death. */
  async live(server: Server, life: number): Promise<void> {
    const born = await gauge(server.pid);
    const port = Number(new URL(server.url).port);
    await this.#remember(new Wire(port));
    const gauges: Gauge[] = [];
    for (let round = 0; round < Number(SOAK_ROUNDS); round += 1) {
      const wire = new Wire(port);
      const over = Date.now() + ROUND_MS;
      await this.#round(wire, () => Date.now() < over);
      wire.close();
      gauges.push(await quiet(server.pid, born.sockets));
    }
    const ending = life % 2 === 0 ? "stop" : "kill";
    this.#report(life, gauges, ending);
    const memory = gauges.map(({ memoryMib }) => memoryMib);
    const report = `memory of life ${life}: ${memory.join(", ")} MiB`;
    expect(Math.max(...memory), report).toBeLessThan(MEMORY_MIB_MAX);
    // Caches and write buffers fill in the beginning: a short life ends before they are full.
    if (memory.length >= ROUNDS_OF_GROWTH) {
      const before = Math.max(...memory.slice(0, Math.ceil(memory.length / 2)));
      expect(memory.at(-1), report).toBeLessThan(before + MEMORY_GROWTH_MIB_MAX);
    }
    expect(gauges.at(-1)?.files).toBeLessThan((gauges[0]?.files ?? 0) + FILES_GROWTH_MAX);
    await this.#die(server, new Wire(port), ending);
  }

  /**
   * Checks that acknowledged writes of former lives are there. In the first life there is something to begin
   * with.
   */
  async #remember(wire: Wire): Promise<void> {
    if (this.#blog.readers.length === 0) {
      await this.#blog.signUp(wire);
      for (let post = 0; post < FIRST_POSTS; post += 1) {
        await this.#blog.post(wire, this.#dice);
      }
    }
    await this.#blog.check(wire);
    wire.close();
  }

  async #round(wire: Wire, goesOn: () => boolean): Promise<void> {
    const subscribe = JSON.stringify({
      type: "subscribe",
      id: "1",
      payload: { query: "subscription { feedChanged { id title } }" },
    });
    for (let subscriber = 0; subscriber < SUBSCRIBERS; subscriber += 1) {
      wire.socket([JSON.stringify({ type: "connection_init" }), subscribe], (message) => {
        this.heard += message.includes('"next"') ? 1 : 0;
      });
    }
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (goesOn()) {
          await this.#act(wire);
        }
      }),
    );
  }

  async #act(wire: Wire): Promise<void> {
    const chosen = this.#dice.roll(100);
    if (chosen < VALID_PERCENT) {
      await this.#dice.pick(VALID)(this.#blog, wire, this.#dice);
    } else {
      const acts = chosen < VALID_PERCENT + INVALID_PERCENT ? INVALID : HOSTILE;
      await this.#dice.pick(acts)(wire, this.#dice);
      this.#refusals += 1;
    }
  }

  /**
   * The server ends in the midst of traffic. Its clients lose their connections, and nothing that was
   * acknowledged.
   */
  async #die(server: Server, wire: Wire, ending: "stop" | "kill"): Promise<void> {
    let alive = true;
    const round = this.#round(wire, () => alive).catch((error: unknown) => {
      if (alive) {
        throw error;
      }
    });
    await delay(this.#dice.roll(DEATH_AFTER_MS_MAX));
    alive = false;
    await server[ending]();
    await round;
    wire.close();
  }

  #report(life: number, gauges: Gauge[], ending: string): void {
    const column = (of: keyof Gauge): string => gauges.map((taken) => taken[of]).join(" ");
    const { answered, refused, posts } = this.#blog;
    console.log(
      `life ${life}: memory ${column("memoryMib")} MiB, files ${column("files")}, sockets ${column("sockets")}; so far ` +
        `${answered} answers, ${refused} refusals, ${this.#refusals} invalid or hostile acts, ${this.heard} events, ` +
        `${posts.length} posts remembered; ends by ${ending}`,
    );
  }
}
