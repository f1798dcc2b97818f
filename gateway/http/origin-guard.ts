// hot path
/**
 * Who may speak to this service from within a browser. A program sends no Origin and names an address we listen on; a
 * page of another origin is told by its Origin, by the browser's own mark (Sec-Fetch-Site) or, when it has turned its
 * name to our address (DNS rebinding), by the Host it asks for.
 *
 * Own are every address that the service listens on, the names of the loopback (a tunnel's end, a mapped port) and what
 * configuration names. The port of a Host is not compared: a browser sends the one it connected to, which a mapping may
 * have changed. An Origin is own when it is `http://` and that very Host.
 *
 * Nothing is charged and nothing read of a request that is refused. What is served to anybody (`/health`, `/ready`) is
 * charged to strangers apart from the address they come from, which on the loopback is everybody's.
 */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { RequestHead } from "./framing.js";
import { isLoopback } from "./server-address.js";

export interface OriginRules {
  /** The address that the service listens on; 0.0.0.0 and :: are all addresses of this machine. */
  readonly listenHost: string;
  /** `name` or `name:port`, beside the addresses. */
  readonly allowedHosts: readonly string[];
  /** `scheme://host[:port]`; `*`: any, for what only reads. */
  readonly allowedOrigins: readonly string[];
}

/** Read again no more often than this when a Host is not known: addresses come and go, lookups cost. */
const ADDRESSES_READ_MS = 1_000;
/** Texts of Host kept as known; each is one of our names with some port. */
const KNOWN_HOSTS_MAX = 64;
const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const EXPOSED_HEADERS =
  "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, X-Ignored-Fields, Idempotent-Replayed, X-Next-Cursor";
/** A name or IPv4 address, or an IPv6 address in brackets; then a port. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/;

/** The port of a scheme: browsers leave it out of what they send. */
const HTTP_PORT = /:80$/;
const ORIGIN_PORT = /^(http:.*):80$|^(https:.*):443$/;

/** As an Origin header has it: scheme, host, port, nothing after. */
export function isOrigin(text: string): boolean {
  return ORIGIN.test(text);
}

/** As ALLOWED_HOSTS takes it. */
export function isHost(text: string): boolean {
  return HOST.test(text.toLowerCase());
}

export class OriginGuard {
  /** Replies differ by Origin where some are told by name. Begins with a line break, or "". */
  readonly varyHeader: string;
  readonly #rules: OriginRules;
  readonly #clock: Clock;
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #corsHeaders: ReadonlyMap<string, string>;
  readonly #anyReads: boolean;
  readonly #isEverywhere: boolean;
  readonly #knownHosts = new Set<string>();
  #addresses: ReadonlySet<string> = new Set();
  #addressesReadNs = Number.NEGATIVE_INFINITY;
  /** Most callers ask under one name. */
  #lastHost = "";

  constructor(rules: OriginRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
    this.#allowedHosts = new Set(rules.allowedHosts.map((host) => host.toLowerCase()));
    this.#anyReads = rules.allowedOrigins.includes("*");
    this.#corsHeaders = new Map(
      rules.allowedOrigins
        .filter((origin) => origin !== "*")
        .map((origin) => origin.replace(ORIGIN_PORT, "$1$2"))
        .map((origin) => [origin, corsHeader(origin)]),
    );
    this.#isEverywhere = EVERYWHERE.has(rules.listenHost);
    this.varyHeader = rules.allowedOrigins.length === 0 ? "" : "\r\nVary: Origin";
  }

  get hasOrigins(): boolean {
    return this.varyHeader !== "";
  }

  /** Gives the CORS headers of the reply, "" for a caller that needs none; throws FOREIGN_HOST or FOREIGN_ORIGIN. */
  check(head: RequestHead, reads: boolean): string {
    if (!this.asksForUs(head)) throw new ServiceError("FOREIGN_HOST");
    const cors = this.corsOf(head, reads);
    if (cors === null) throw new ServiceError("FOREIGN_ORIGIN");
    return cors;
  }

  /** Is the Host one of ours? */
  asksForUs(head: RequestHead): boolean {
    const host = head.get("host");
    if (host === this.#lastHost && host !== "") return true;
    if (!this.#isOwnHost(host)) return false;
    this.#lastHost = host;
    return true;
  }

  /** As `check`, of a request whose Host is ours; null where a page of another origin asks. */
  corsOf(head: RequestHead, reads: boolean): string | null {
    const origin = head.get("origin");
    if (origin === "") {
      const site = head.get("sec-fetch-site");
      const own = site === "" || site === "same-origin" || site === "none" || (reads && isFollowedLink(head));
      return own ? "" : null;
    }
    const named = this.#corsHeaders.get(origin);
    if (named !== undefined) return named;
    const host = head.get("host");
    if (origin === `http://${host}` || origin === `http://${host.replace(HTTP_PORT, "")}`) return "";
    // Cut, since a header may be long; the pattern keeps a caller's text out of our headers.
    return this.#anyReads && reads && (origin === "null" || isOrigin(origin)) ? corsHeader(origin) : null;
  }

  #isOwnHost(host: string): boolean {
    if (this.#knownHosts.has(host)) return true;
    const text = host.toLowerCase();
    const parts = HOST.exec(text);
    if (parts === null) return false;
    const name = (parts[1] ?? "").replace(/^\[|\]$/g, "");
    if (!this.#isOwnName(name) && !this.#isAllowed(text, parts[1] ?? "")) return false;
    if (this.#knownHosts.size >= KNOWN_HOSTS_MAX) this.#knownHosts.clear();
    this.#knownHosts.add(host);
    return true;
  }

  /** `text`: `name` with the port that came, if one did. */
  #isAllowed(text: string, name: string): boolean {
    const allowed = this.#allowedHosts;
    if (allowed.has(text) || allowed.has(name)) return true;
    // None came: the port of its scheme, and which scheme a proxy speaks is not known here.
    return text === name && (allowed.has(`${name}:80`) || allowed.has(`${name}:443`));
  }

  #isOwnName(name: string): boolean {
    if (isLoopback(name) || name === this.#rules.listenHost.toLowerCase()) return true;
    return this.#isEverywhere && isIP(name) !== 0 && this.#ownAddresses().has(name);
  }

  #ownAddresses(): ReadonlySet<string> {
    const nowNs = this.#clock.monoNs();
    if (nowNs - this.#addressesReadNs >= ADDRESSES_READ_MS * 1e6) {
      this.#addressesReadNs = nowNs;
      this.#addresses = new Set(
        Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address.toLowerCase())),
      );
    }
    return this.#addresses;
  }
}

/** Somebody came here by a link: a document of its own, which the page that had the link cannot read. */
function isFollowedLink(head: RequestHead): boolean {
  return head.get("sec-fetch-mode") === "navigate" && head.get("sec-fetch-dest") === "document";
}

function corsHeader(origin: string): string {
  return `\r\nAccess-Control-Allow-Origin: ${origin}\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}`;
}
