/**
 * What lies between the service and its co-signer: bytes pass as they come, or wait while the link is held. A signature
 * that was asked for then waits too, for as long as its asker does.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { within } from "./system.js";

const LOOPBACK = "127.0.0.1";

export class HeldLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHeld = false;
  #isCut = false;
  #wake: () => void = () => {};
  #arrive: () => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(targetPort: number): Promise<HeldLink> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
    const link = new HeldLink(server);
    server.on("connection", (caller) => link.#join(caller, targetPort));
    return link;
  }

  /** Nothing passes from now on. Resolves once something from the service waits. */
  hold(): Promise<void> {
    this.#isHeld = true;
    const arrived = new Promise<void>((resolve) => {
      this.#arrive = resolve;
    });
    return within("the service asks its co-signer", arrived);
  }

  /** Connections end, and new ones do too. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** What waits passes, in its order. */
  release(): void {
    this.#isHeld = false;
    this.#isCut = false;
    this.#wake();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(caller: Socket, targetPort: number): void {
    if (this.#isCut) return void caller.destroy();
    const target = connect(targetPort, LOOPBACK);
    for (const socket of [caller, target]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    void this.#pump(caller, target, true);
    void this.#pump(target, caller, false);
  }

  async #pump(from: Socket, to: Socket, isService: boolean): Promise<void> {
    try {
      for await (const chunk of from) {
        while (this.#isHeld) {
          if (isService) this.#arrive();
          await this.#released();
        }
        to.write(chunk as Buffer);
      }
    } catch {
      // One side is gone, and so is the other then.
    }
    from.destroy();
    to.destroy();
  }

  /** Several wait at once. */
  #released(): Promise<void> {
    const before = this.#wake;
    return new Promise((resolve) => {
      this.#wake = () => {
        before();
        resolve();
      };
    });
  }
}
