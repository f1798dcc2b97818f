/**
 * The way of `AUTH_MODE=secret`: the secret itself goes with each request, so nothing is signed. For trusted networks
 * only. Whoever sees one request can make more, and nothing keeps one that is sent twice on its way from being done
 * twice: a write should have an Idempotency-Key.
 *
 * Invariant: the secret leaves over https, or to this machine. Redirects are not followed (fetch-port.ts).
 */
import type { ServerClock } from "./server-clock.js";
import { type ApiKeys, type ImportSecret, type KeyClaim, type Proof, type Prover, Signer } from "./signing.js";

/** Names and addresses of this machine as `URL` writes them; another name may lead anywhere. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** What a header can carry as it is. */
const HEADER_SECRET = /^[\x21-\x7e]{1,256}$/;

/** Throws TypeError where the secret would travel in the clear. `origin`: of the service. */
export function assertSecretMayTravel(origin: string): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol !== "https:" && !LOOPBACK.test(hostname))
    throw new TypeError("with mode secret baseUrl is https, or http to localhost, 127.0.0.1 or [::1]");
}

export class ShownSecret implements Prover {
  readonly apiKey: string;
  readonly needsTime = false;
  readonly #secret: string;
  /** The stream takes a signature in this mode too. */
  readonly #signer: Signer;

  constructor(keys: ApiKeys, time: ServerClock, importer: ImportSecret) {
    this.apiKey = keys.apiKey;
    this.#secret = keys.secret;
    this.#signer = new Signer(keys, time, importer);
  }

  /** Rejects for a secret that no header can carry. */
  async prove(): Promise<Proof> {
    if (!HEADER_SECRET.test(this.#secret)) throw new TypeError("the secret is no visible ASCII");
    return { headers: { "x-api-key": this.apiKey, "x-api-secret": this.#secret }, signedMs: null };
  }

  claim(): Promise<KeyClaim> {
    return this.#signer.claim();
  }
}
