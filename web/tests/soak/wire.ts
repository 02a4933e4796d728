/** Connections to the server: well-behaved connections that are used again, and raw ones without cleanup. */
import { Agent, request, type OutgoingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";

const SUBPROTOCOL = "graphql-transport-ws";

export interface Answer {
  status: number;
  body: string;
}

export interface Asked {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
  /** A connection of its own, which hostile requests need: the server may close theirs at any time. */
  alone?: boolean;
}

export class Wire {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #held = new Set<Socket | WebSocket>();

  constructor(port: number) {
    this.#port = port;
  }

  /** Rejects when the connection ends before the answer. */
  ask({ method = "POST", path = "/graphql", headers = {}, body = "", alone = false }: Asked): Promise<Answer> {
    const agent = alone ? new Agent() : this.#agent;
    return new Promise((resolve, reject) => {
      const asking = request({ host: "127.0.0.1", port: this.#port, method, path, agent, headers }, (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("error", reject);
        answer.on("end", () => {
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString() });
        });
      });
      asking.on("error", reject);
      asking.end(body);
    });
  }

  /** Opens a connection, sends these bytes, reads nothing, and leaves it open. */
  hold(bytes: string | Buffer): void {
    const socket = connect(this.#port, "127.0.0.1");
    socket.pause();
    socket.write(bytes);
    this.#hold(socket);
  }

  /** Opens a connection, sends these bytes and breaks off. */
  breakOff(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(this.#port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.on("close", () => {
        resolve();
      });
      socket.write(bytes, () => {
        socket.resetAndDestroy();
      });
    });
  }

  /** Opens a WebSocket, sends this, and leaves it open. Returns the received messages. */
  socket(said: readonly (string | Buffer)[], heard: (message: string) => void = () => undefined): void {
    const socket = new WebSocket(`ws://127.0.0.1:${this.#port}/graphql`, SUBPROTOCOL);
    socket.on("open", () => {
      said.forEach((message) => {
        socket.send(message);
      });
    });
    socket.on("message", (message: Buffer) => {
      heard(message.toString());
    });
    this.#hold(socket);
  }

  #hold(connection: Socket | WebSocket): void {
    this.#held.add(connection);
    connection.on("error", () => undefined);
    connection.on("close", () => this.#held.delete(connection));
  }

  /** Breaks every connection off. */
  close(): void {
    this.#agent.destroy();
    for (const connection of this.#held) {
      if (connection instanceof WebSocket) {
        connection.terminate();
      } else {
        connection.destroy();
      }
    }
  }
}
