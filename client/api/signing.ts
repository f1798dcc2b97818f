/**
 * Signs requests and stream claims. The secret lives in a key that WebCrypto does not give out again; its text is not
 * kept. One port for browsers and Node: tests and other runtimes may pass their own.
 */
import type { ServerClock } from "./server-clock.js";

export interface ApiKeys {
  readonly apiKey: string;
  readonly secret: string;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** HMAC-SHA256 under one secret, as lower-case hex. */
export type Mac = (bytes: Bytes) => Promise<string>;

/** Keeps no reference to the text. May reject: then nothing can be signed. */
export type ImportSecret = (secret: string) => Promise<Mac>;

const encoder = new TextEncoder();

/** Rejects where the runtime has no WebCrypto: a page that was loaded neither by https nor from this machine. */
export const importSecret: ImportSecret = async (secret) => {
  const { subtle } = globalThis.crypto;
  const bytes = encoder.encode(secret);
  const key = await subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  bytes.fill(0);
  return macOf(key);
};

/** Apart from `importSecret`, so that nothing that lives on sees the secret's text. */
function macOf(key: Parameters<typeof globalThis.crypto.subtle.sign>[1]): Mac {
  return async (bytes) => hexOf(new Uint8Array(await globalThis.crypto.subtle.sign("HMAC", key, bytes)));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What is signed of a request: the target and the body exactly as they are sent. */
export function prehashOf(timestampMs: number, method: string, target: string, body: Bytes | null): Bytes {
  const head = encoder.encode(`${timestampMs}${method}${target}`);
  if (body === null) return head;
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return all;
}

/** The stream's address as its claims name it. */
const STREAM_TARGET = "/ws";

export interface KeyClaim {
  readonly apiKey: string;
  readonly timestamp: number;
  readonly signature: string;
}

/** What shows on one request who asks. */
export interface Proof {
  readonly headers: Readonly<Record<string, string>>;
  /** Null: nothing was signed. */
  readonly signedMs: number | null;
}

/** A way to prove one API key. */
export interface Prover {
  readonly apiKey: string;
  /** The service's time must be read before. */
  readonly needsTime: boolean;
  prove(method: string, target: string, body: Bytes | null): Promise<Proof>;
  /** Proves the key on a stream. Accepted once. */
  claim(): Promise<KeyClaim>;
}

/** One API key. A caller that changes keys makes another signer; calls under way keep theirs. */
export class Signer implements Prover {
  readonly apiKey: string;
  readonly needsTime = true;
  readonly #mac: Promise<Mac>;
  readonly #time: ServerClock;

  constructor({ apiKey, secret }: ApiKeys, time: ServerClock, importer: ImportSecret) {
    this.apiKey = apiKey;
    this.#time = time;
    this.#mac = importer(secret);
    // A refusal shows in the calls that need the key.
    this.#mac.catch(() => {});
  }

  /** A write gets a time of its own: the service accepts a signature of one only once. */
  async prove(method: string, target: string, body: Bytes | null): Promise<Proof> {
    const mac = await this.#mac;
    const timestamp = method === "GET" ? this.#time.nowMs() : this.#time.unique();
    const signature = await mac(prehashOf(timestamp, method, target, body));
    const headers = { "x-api-key": this.apiKey, "x-api-timestamp": String(timestamp), "x-api-signature": signature };
    return { headers, signedMs: timestamp };
  }

  async claim(): Promise<KeyClaim> {
    const mac = await this.#mac;
    const timestamp = this.#time.unique();
    return { apiKey: this.apiKey, timestamp, signature: await mac(prehashOf(timestamp, "GET", STREAM_TARGET, null)) };
  }
}
