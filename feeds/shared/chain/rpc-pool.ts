/**
 * The endpoints of one chain: asked in turn until one answers, or all at once. Invariant: who answers for another chain is
 * left out of both, and does not lower the number that must agree.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { CallOptions } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import { connectRpc, type RpcConnection } from "./rpc-connection.js";
import { CALL_MS_MAX, type EndpointStatus, RpcEndpoint, type RpcResult } from "./rpc-endpoint.js";

export interface RpcPoolOptions {
  readonly chainId: number;
  /** Of `http` or `https`. They may contain keys. */
  readonly urls: readonly string[];
  /**
   * Endpoints that must show the same before it is believed where money is counted on. Default: two, and one where only
   * one is configured.
   */
  readonly agreement?: number;
  /** An endpoint so many blocks behind the best is not asked for what an address holds. */
  readonly lagBlocksMax?: number;
  /** For each endpoint. */
  readonly callsPerMinute?: number;
  /** Of an answer; default 1 MiB. */
  readonly maxBodyBytes?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Default: a pool of HTTP connections. */
  readonly connect?: (url: URL, place: number) => RpcConnection;
}

const AGREEMENT = 2;
const LAG_BLOCKS_MAX = 20;
const CALLS_PER_MINUTE = 3_000;
/** Two blocks of the quickest of these chains are further apart than what is read of them may be old. */
const HEAD_AGE_MS_MAX = 2_000;
/** Shorter parts of a URL are words. */
const KEY_CHARS_MIN = 8;
/** A balance does not wait longer for the heights of all. */
const HEAD_MS_MAX = 1_000;

export type Ask<T> = (endpoint: RpcEndpoint, options: CallOptions) => Promise<RpcResult<T>>;

export class RpcPool {
  /** How many endpoints must show the same. */
  readonly agreement: number;
  readonly #endpoints: readonly RpcEndpoint[];
  readonly #connections: readonly RpcConnection[];
  readonly #options: RpcPoolOptions;

  /** Throws RangeError for a configuration that cannot be meant. */
  constructor(options: RpcPoolOptions) {
    const { chainId, clock, logger, random, callsPerMinute = CALLS_PER_MINUTE } = options;
    const bodies = options.maxBodyBytes === undefined ? {} : { maxBodyBytes: options.maxBodyBytes };
    const urls = options.urls.map(readUrl);
    if (urls.length === 0) throw new RangeError("a chain needs an endpoint");
    // One endpoint twice would agree with itself.
    if (new Set(urls.map(({ href }) => href)).size < urls.length) throw new RangeError("an endpoint is named twice");
    this.agreement = options.agreement ?? Math.min(AGREEMENT, urls.length);
    if (!Number.isInteger(this.agreement) || this.agreement < 1 || this.agreement > urls.length)
      throw new RangeError("as many endpoints must agree as there are, at most");
    this.#options = options;
    const connect =
      options.connect ??
      ((url, place) =>
        connectRpc(url, { name: `chain.${chainId}.${place}`, callsPerMinute, ...bodies, clock, random, logger }));
    this.#connections = urls.map((url, index) => connect(url, index + 1));
    this.#endpoints = this.#connections.map(({ http, path, headers }, index) => {
      const keys = keysOf(urls[index]);
      return new RpcEndpoint({ ...{ chainId, place: index + 1, http, path, headers, keys }, clock, logger });
    });
  }

  /** In the order of the configuration, for who chooses among them by more than their height. */
  get endpoints(): readonly RpcEndpoint[] {
    return this.#endpoints;
  }

  status(): readonly EndpointStatus[] {
    return this.#endpoints.map((endpoint) => endpoint.status());
  }

  /** Of the first that gives a value, among those whose chain is as high as the others', by all that is known. */
  async first<T>(ask: Ask<T>, options: CallOptions): Promise<RpcResult<T>> {
    const deadline = new Deadline(this.#options.clock, options);
    const endpoints = await this.#fresh(deadline);
    let last: RpcResult<T> = failed("no endpoint is at the head of the chain");
    for (const [index, endpoint] of endpoints.entries()) {
      const left = deadline.left();
      if (left === null) return last;
      // A hanging one leaves time for those after it.
      const timeoutMs = Math.ceil(Math.min(CALL_MS_MAX, left.timeoutMs / (endpoints.length - index)));
      last = await ask(endpoint, { ...left, timeoutMs });
      if (last.kind === "value") return last;
    }
    return last;
  }

  /** Of all that are of this chain, in the order of the configuration; each has the whole time. */
  each<T>(ask: (endpoint: RpcEndpoint, options: CallOptions) => Promise<T>, options: CallOptions): Promise<T[]> {
    return Promise.all(
      this.#endpoints.filter((endpoint) => !endpoint.isSetAside).map((endpoint) => ask(endpoint, options)),
    );
  }

  /** Lets running calls end for as long. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close(graceMs)));
  }

  /** Who answered last time comes first. */
  #inOrder(): readonly RpcEndpoint[] {
    const own = this.#endpoints.filter((endpoint) => !endpoint.isSetAside);
    return [...own.filter((endpoint) => endpoint.isWell), ...own.filter((endpoint) => !endpoint.isWell)];
  }

  async #fresh(deadline: Deadline): Promise<readonly RpcEndpoint[]> {
    const endpoints = this.#inOrder();
    const left = deadline.left();
    // The height of one alone says nothing.
    if (endpoints.length <= 1 || left === null) return endpoints;
    const options = { ...left, timeoutMs: Math.min(HEAD_MS_MAX, left.timeoutMs / 2) };
    const heads = await Promise.all(endpoints.map((endpoint) => endpoint.head(options, HEAD_AGE_MS_MAX)));
    const least = bestHead(heads, this.agreement) - (this.#options.lagBlocksMax ?? LAG_BLOCKS_MAX);
    return endpoints.filter((endpoint, index) => {
      const head = heads[index];
      return head !== null && head !== undefined && head >= least && !endpoint.isSetAside;
    });
  }
}

/**
 * The height that as many have reached as must agree, or all but one where there are no more: so one that names a height
 * far above the others' does not set them aside. Of two the higher: the other lags.
 */
export function bestHead(heads: readonly (number | null)[], agreement: number): number {
  const known = heads.filter((head) => head !== null).sort((left, right) => right - left);
  return known[Math.max(0, Math.min(agreement, known.length - 1) - 1)] ?? 0;
}

function failed(message: string): Extract<RpcResult<never>, { kind: "failed" }> {
  return { kind: "failed", failure: failedRead("VENUE_ERROR", message), isSent: false };
}

function readUrl(text: string): URL {
  // The text of a URL may contain a key: no message has it.
  if (!URL.canParse(text)) throw new RangeError("the URL of an endpoint cannot be read");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new RangeError("an endpoint is of http or https");
  return url;
}

/** Parts of a URL that may be keys, as they are written there and as an endpoint reads them; the longest first. */
function keysOf(url: URL | undefined): readonly string[] {
  if (url === undefined) return [];
  const { username, password, pathname, search } = url;
  const parts = [username, password, ...`${pathname}${search}`.split(/[/?&=]/)];
  const keys = [...parts, ...parts.map(decoded)].filter((part) => part.length >= KEY_CHARS_MIN);
  return [...new Set(keys)].sort((left, right) => right.length - left.length);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not encoded: it is what it is.
    return part;
  }
}
