/** Parties, listeners and strangers for tests of the link, on loopback sockets. */
import { connect as connectPlain, type Socket } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { otherParty, type Party } from "../../../engine/custody/mpc/base/parameters.js";
import { encodeHeader, headerOf, type Message, NO_SID } from "../../../engine/custody/mpc/wire/header.js";
import {
  kindNamed,
  MESSAGE_KINDS,
  type MessageKind,
  type MessageName,
} from "../../../engine/custody/mpc/wire/message-types.js";
import type { LinkListener, PartyLink } from "../../../engine/custody/provider/party-link.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { LinkClient, type LinkClientParts } from "../link-client.js";
import { LinkServer, type LinkServerParts } from "../link-server.js";
import { identityOf } from "../link-tls.js";
import { createPartyCertificate, type PartyCertificate } from "../party-certificate.js";

export const HOST = "127.0.0.1";
export const WALLET = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");

/** Certificates are alike in all tests; who needs another key makes one. */
export const SERVICE = createPartyCertificate(0);
export const COSIGNER = createPartyCertificate(1);
export const STRANGER = createPartyCertificate(0);

/** A legal frame that `from` sends; the body holds `fill` throughout. */
export function frameOf(name: MessageName, from: Party, { length, fill = 0 }: { length?: number; fill?: number } = {}) {
  const kind = kindNamed(name);
  const bytes = length ?? kind.bytesMin;
  const names = { walletId: name === "hello" ? Buffer.alloc(16) : WALLET, epoch: 1, ctr: 7n };
  return { header: headerOf(kind, from, names, NO_SID, bytes), body: Buffer.alloc(bytes, fill) } satisfies Message;
}

export function bytesOf({ header, body }: Message): Buffer {
  return Buffer.concat([encodeHeader(header), body]);
}

/** Every kind of message that `party` may receive. */
export function kindsFor(party: Party): readonly MessageKind[] {
  return MESSAGE_KINDS.filter(({ from }) => from === null || from === otherParty(party));
}

type Handle = (message: Message) => Promise<void>;

/** Writes down what it is told, in order. */
export class RecordingListener implements LinkListener {
  readonly events: string[] = [];
  readonly messages: Message[] = [];
  readonly #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];
  handle: Handle = () => Promise.resolve();

  connected(): void {
    this.#tell("connected");
  }

  message(message: Message): Promise<void> {
    this.messages.push(message);
    const handled = this.handle(message);
    this.#tell(`message ${message.header.type.toString(16)}`);
    return handled;
  }

  malformed(walletId: Uint8Array | null): void {
    this.#tell(`malformed ${walletId === null ? "-" : Buffer.from(walletId).toString("hex")}`);
  }

  lost(): void {
    this.#tell("lost");
  }

  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }));
  }

  count(event: string): number {
    return this.events.filter((each) => each === event).length;
  }

  #tell(event: string): void {
    this.events.push(event);
    for (const each of this.#waiting.splice(0)) {
      if (each.isMet()) each.resolve();
      else this.#waiting.push(each);
    }
  }
}

export class RecordingLogger implements Logger {
  readonly lines: string[] = [];
  readonly debug = (event: string, fields?: unknown) => this.#write(event, fields);
  readonly info = (event: string, fields?: unknown) => this.#write(event, fields);
  readonly warn = (event: string, fields?: unknown) => this.#write(event, fields);
  readonly error = (event: string, fields?: unknown) => this.#write(event, fields);

  #write(event: string, fields: unknown): void {
    this.lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  }
}

export interface End<Link extends PartyLink> {
  readonly link: Link;
  readonly listener: RecordingListener;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
}

/** Ends what a test began, the last first. */
export class Stage {
  readonly #undo: (() => unknown)[] = [];

  later(end: () => unknown): void {
    this.#undo.push(end);
  }

  async end(): Promise<void> {
    for (const each of this.#undo.splice(0).reverse()) await each();
  }

  async server(parts: Partial<LinkServerParts> = {}): Promise<End<LinkServer> & { readonly port: number }> {
    const clock = new VirtualClock();
    const logger = new RecordingLogger();
    const listener = new RecordingListener();
    const identity = identityOf(COSIGNER, [SERVICE.pin]);
    const link = new LinkServer({ host: HOST, port: 0, identity, clock, logger, ...parts });
    link.listen(listener);
    this.later(() => link.close());
    const { port } = await link.start();
    return { link, listener, clock, logger, port };
  }

  client(port: number, parts: Partial<LinkClientParts> = {}): End<LinkClient> {
    const clock = new VirtualClock();
    const logger = new RecordingLogger();
    const listener = new RecordingListener();
    const identity = identityOf(SERVICE, [COSIGNER.pin]);
    const random = createSeededRandom(1);
    const link = new LinkClient({ place: () => ({ host: HOST, port }), identity, clock, random, logger, ...parts });
    link.listen(listener);
    this.later(() => link.close());
    link.start();
    return { link, listener, clock, logger };
  }

  /** A bare TLS peer; resolves when its own handshake has ended, rejects when it fails. */
  async peer(port: number, own: PartyCertificate | null, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const shown = own === null ? {} : { cert: own.certificate, key: own.key };
    const socket = connect({ host: HOST, port, rejectUnauthorized: false, ...shown, ...options });
    this.later(() => socket.destroy());
    await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    socket.on("error", () => {});
    return socket;
  }

  /** A bare TCP peer. */
  plain(port: number): Socket {
    const socket = connectPlain(port, HOST);
    socket.on("error", () => {});
    this.later(() => socket.destroy());
    return socket;
  }
}

/** Moves the clock of a client that waits to its next attempt, and not past it; returns the pause in ms. */
export function passPause({ link, clock }: End<LinkClient>): number {
  let pauseMs = 0;
  for (; link.status().handshakes === 0; pauseMs += 50) {
    if (pauseMs > 10_000) throw new Error("the client does not try again");
    clock.advance(50);
  }
  return pauseMs;
}

/** Drains it, so that an end is seen. */
export function closeOf(socket: Socket): Promise<void> {
  socket.resume();
  return new Promise((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));
}
