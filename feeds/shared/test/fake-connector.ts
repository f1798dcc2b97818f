/** A connector for tests: connections are opened, fed and closed by hand, and everything sent is kept. */
import type { Connection, ConnectionHandlers, Connector } from "../net/connector.js";

export class FakeConnection implements Connection {
  readonly url: string;
  readonly handlers: ConnectionHandlers;
  readonly sent: string[] = [];
  pingCount = 0;
  closedWith: number | null = null;
  isTerminated = false;
  bufferedBytes = 0;
  readonly #pong: () => string | null;
  #isEnded = false;

  constructor(url: string, handlers: ConnectionHandlers, pong: () => string | null = () => null) {
    this.url = url;
    this.handlers = handlers;
    this.#pong = pong;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  send(text: string): void {
    this.sent.push(text);
    const pong = text.includes('"ping"') ? this.#pong() : null;
    if (pong !== null) this.receive(pong);
  }

  ping(): void {
    this.pingCount++;
    if (this.#pong() !== null) this.handlers.onControl();
  }

  close(code: number, reason: string): void {
    this.closedWith = code;
    this.end(code, reason);
  }

  terminate(): void {
    this.isTerminated = true;
    this.end(1006, "");
  }

  open(): void {
    this.handlers.onOpen();
  }

  receive(text: string): void {
    this.handlers.onMessage(Buffer.from(text));
  }

  /** The peer ends it. */
  end(code: number, reason = ""): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.handlers.onClose(code, reason);
  }
}

export class FakeNetwork {
  readonly connections: FakeConnection[] = [];
  /** The text that answers a ping; null: pings are not answered. */
  pong: string | null = null;

  readonly connector: Connector = (url, handlers) => {
    const connection = new FakeConnection(url, handlers, () => this.pong);
    this.connections.push(connection);
    return connection;
  };

  get last(): FakeConnection {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error("nothing connected yet");
    return connection;
  }
}
