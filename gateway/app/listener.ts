/**
 * The listening side of the HTTP server: one native app, or with TLS one per certificate.
 *
 * A new certificate gets an app of its own with the same routes, which listens beside the one before; then that one
 * stops to listen. Its connections go on until they end (ADR 31). Invariants: at every moment at least one socket
 * listens. Messages reach the subscribers of every app. At most RETIRED_MAX former apps have connections.
 */
import uws, { type TemplatedApp, type us_listen_socket, type WebSocketBehavior } from "uWebSockets.js";
import { StartError } from "../children/start-error.js";
import type { CertificateView } from "../admin/operations.js";
import { openTlsFiles, type TlsFiles, type TlsPaths, TlsRefusal } from "./tls-files.js";

/** Members of the native module that its type declarations lack (checked in its source, 2026-11-21). */
const native = uws as unknown as { _cfg(key: string): void; readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number };
/** `filter` calls back with 1 for each connection and -1 at its end, not at the end of one that became a WebSocket. */
interface NativeApp {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
  filter(callback: (response: unknown, change: number) => void): void;
}

/** Omits the server's own name from the reply headers. */
const SILENT = "999999990007";
/** Lets a second socket of this process listen on the port. */
const SHARED_PORT = 0;
/** Apps of former certificates; the connections of the oldest beyond it end. */
const RETIRED_MAX = 4;
/** TLS 1.2 with forward secrecy and authenticated encryption; TLS 1.3 has no others. */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";
/** A turn of the event loop shorter than this has accepted nothing, so that nothing waits in the queue. */
const QUIET_TURN_NS = 30_000n;
/** Some seconds of a busy loop. */
const QUIET_TURNS_MAX = 10_000;

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: TlsPaths | null;
}

interface Member {
  readonly app: TemplatedApp;
  readonly fingerprint: string;
  readonly view: CertificateView | null;
  socket: us_listen_socket | null;
  connectionCount: number;
}

/** Mounts all routes on an app; called once for each certificate. */
export type Mount = (app: TemplatedApp) => void;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #mount: Mount;
  #port = 0;
  /** The one that listens is first. */
  #members: Member[] = [];
  #swap: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(options: ListenerOptions, mount: Mount) {
    native._cfg(SILENT);
    this.#options = options;
    this.#mount = mount;
  }

  get port(): number {
    return this.#port;
  }

  get certificate(): CertificateView | null {
    return this.#members[0]?.view ?? null;
  }

  /** Connections of apps that no longer listen. */
  get retiredConnectionCount(): number {
    return this.#members.slice(1).reduce((sum, { connectionCount }) => sum + connectionCount, 0);
  }

  /** Rejects with StartError. */
  async start(): Promise<void> {
    const { host, port, tls } = this.#options;
    if (tls === null) {
      const member = this.#make(uws.App(), "", null);
      // An exclusive port: without it a second process would silently share the address.
      member.socket = await this.#listen(member.app, port, native.LIBUS_LISTEN_EXCLUSIVE_PORT);
      if (member.socket === null) throw taken(host, port);
      this.#port = uws.us_socket_local_port(member.socket);
      return;
    }
    this.#port = await this.#freePort();
    const files = this.#opened(tls);
    try {
      const member = this.#makeSecure(files);
      member.socket = await this.#listen(member.app, this.#port, SHARED_PORT);
      if (member.socket === null) throw taken(host, port);
    } catch (error) {
      throw error instanceof TlsRefusal ? new StartError([error.message]) : error;
    } finally {
      files.close();
    }
  }

  publish(channel: string, text: string): void {
    for (const { app } of this.#members) app.publish(channel, text, false, false);
  }

  /**
   * Takes up the certificate that is in the files now. Rejects with TlsRefusal, and the one before stays. Reloads that
   * meet run one after the other.
   */
  reload(nowMs: number): Promise<{ readonly view: CertificateView; readonly changed: boolean }> {
    const next = this.#swap.then(() => this.#reload(nowMs));
    this.#swap = next.catch(() => {});
    return next;
  }

  /** Takes no new connections. Idempotent. */
  stopListening(): void {
    this.#isStopped = true;
    for (const member of this.#members) closeSocket(member);
  }

  /** Ends all connections. */
  close(): void {
    this.stopListening();
    for (const { app } of this.#members.splice(0)) app.close();
  }

  async #reload(nowMs: number): Promise<{ readonly view: CertificateView; readonly changed: boolean }> {
    const { tls } = this.#options;
    const current = this.#members[0];
    if (tls === null || current === undefined || this.#isStopped)
      throw new TlsRefusal("REFUSED_BY_SERVER", "the service does not listen with TLS");
    const files = openTlsFiles(tls, nowMs);
    try {
      if (files.fingerprint === current.fingerprint) return { view: files.view, changed: false };
      const next = this.#makeSecure(files);
      next.socket = await this.#listen(next.app, this.#port, SHARED_PORT);
      if (next.socket === null) {
        this.#members.shift();
        next.app.close();
        throw new TlsRefusal("REFUSED_BY_SERVER", "the system refused a second socket on the port");
      }
      await quietTurn();
      closeSocket(current);
      if (this.#isStopped) closeSocket(next);
      this.#dropRetired();
      return { view: files.view, changed: true };
    } finally {
      files.close();
    }
  }

  #opened(tls: TlsPaths): TlsFiles {
    try {
      // An expired one is served: a service that must close positions starts all the same.
      return openTlsFiles(tls, null);
    } catch (error) {
      throw error instanceof TlsRefusal ? new StartError([error.message]) : error;
    }
  }

  /** First member from now on. Throws TlsRefusal. */
  #makeSecure({ certPath, keyPath, fingerprint, view }: TlsFiles): Member {
    let app: TemplatedApp;
    try {
      app = uws.SSLApp({ cert_file_name: certPath, key_file_name: keyPath, ssl_ciphers: CIPHERS });
    } catch {
      throw new TlsRefusal("REFUSED_BY_SERVER", "the TLS library refuses the certificate or its key");
    }
    return this.#make(app, fingerprint, view);
  }

  #make(app: TemplatedApp, fingerprint: string, view: CertificateView | null): Member {
    const member: Member = { app, fingerprint, view, socket: null, connectionCount: 0 };
    const count = (_: unknown, change: number): void => {
      member.connectionCount += change;
    };
    (app as unknown as NativeApp).filter(count);
    this.#mount(countingSockets(app, () => member.connectionCount--));
    this.#members.unshift(member);
    return member;
  }

  /** Null where the system refuses. */
  #listen(app: TemplatedApp, port: number, options: number): Promise<us_listen_socket | null> {
    return new Promise((resolve) => {
      (app as unknown as NativeApp).listen(this.#options.host, port, options, (socket) =>
        resolve(socket === false ? null : socket),
      );
    });
  }

  /** A shared port does not say whether somebody has it already; an exclusive one does. Rejects with StartError. */
  async #freePort(): Promise<number> {
    const { host, port } = this.#options;
    const app = uws.App();
    const socket = await this.#listen(app, port, native.LIBUS_LISTEN_EXCLUSIVE_PORT);
    if (socket === null) throw taken(host, port);
    const free = uws.us_socket_local_port(socket);
    app.close();
    return free;
  }

  /** Forgets former apps without connections, and ends the oldest beyond the bound. */
  #dropRetired(): void {
    const [current, ...retired] = this.#members;
    const busy = retired.filter(({ connectionCount }) => connectionCount > 0);
    for (const { app } of busy.splice(RETIRED_MAX)) app.close();
    this.#members = current === undefined ? busy : [current, ...busy];
  }
}

function closeSocket(member: Member): void {
  if (member.socket !== null) uws.us_listen_socket_close(member.socket);
  member.socket = null;
}

/**
 * The system resets connections that wait in the queue of a socket that closes. Resolves in a turn of the event loop in
 * which that queue has just been read to its end.
 */
function quietTurn(): Promise<void> {
  return new Promise((resolve) => {
    let last = process.hrtime.bigint();
    let turnCount = 0;
    const turn = () => {
      const now = process.hrtime.bigint();
      turnCount++;
      if (now - last < QUIET_TURN_NS || turnCount >= QUIET_TURNS_MAX) return resolve();
      last = now;
      setImmediate(turn);
    };
    setImmediate(turn);
  });
}

/** The app, with the ends of its WebSockets reported. */
function countingSockets(app: TemplatedApp, onClose: () => void): TemplatedApp {
  return new Proxy(app, {
    get(target, name) {
      if (name === "ws")
        return <T>(pattern: string, behavior: WebSocketBehavior<T>) =>
          target.ws<T>(pattern, {
            ...behavior,
            close: (socket, code, message) => {
              onClose();
              behavior.close?.(socket, code, message);
            },
          });
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function taken(host: string, port: number): StartError {
  return new StartError([`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`]);
}
