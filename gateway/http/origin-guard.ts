// hot path
/**
 * Decides which callers in a browser may use this service. A program sends no Origin and names an address we listen on.
 * A page of another origin is recognised by its Origin, by the browser's own mark (Sec-Fetch-Site) or, when it has
 * pointed its name to our address (DNS rebinding), by its Host.
 *
 * Own names are every address that the service listens on, the names of the loopback (a tunnel's end, a mapped port)
 * and the configured ones. The port of a Host is not compared: a browser sends the one it connected to, which a mapping
 * may have changed. An Origin is own when it is the scheme of the service and exactly that Host.
 *
 * A refused request is neither charged nor read. What is served to everyone (`/health`, `/ready`) is charged to foreign
 * pages apart from their address, which on the loopback all callers share.
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
  /** Of this service's own pages. Default `http`. */
  readonly ownScheme?: "http" | "https";
  /** `name` or `name:port`, in addition to the addresses. */
  readonly allowedHosts: readonly string[];
  /** `scheme://host[:port]`; `*` allows any, for requests that only read. */
  readonly allowedOrigins: readonly string[];
}

/**
 * For an unknown Host, the machine's addresses are read again at most this often: addresses change, and lookups cost.
 */
const ADDRESSES_READ_MS = 1_000;
/** Most Host texts remembered as known; each is one of our names with some port. */
const KNOWN_HOSTS_MAX = 64;
const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const EXPOSED_HEADERS =
  "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, X-Ignored-Fields, Idempotent-Replayed, X-Next-Cursor, Deprecation, Link";
/** A name or IPv4 address, or an IPv6 address in brackets; then a port. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/;

/** The default port of the scheme: browsers omit it. */
const DEFAULT_PORT = { http: /:80$/, https: /:443$/ } as const;
const ORIGIN_PORT = /^(http:.*):80$|^(https:.*):443$/;

/** In the form of an Origin header: scheme, host, port, nothing after. */
export function isOrigin(text: string): boolean {
  return ORIGIN.test(text);
}

/** In the form that ALLOWED_HOSTS takes. */
export function isHost(text: string): boolean {
  return HOST.test(text.toLowerCase());
}

export class OriginGuard {
  /** Replies differ by Origin where origins are configured by name. Begins with a line break, or "". */
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
  /** Most callers use one name. */
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

  /** Returns the CORS headers of the reply, "" for a caller that needs none; throws FOREIGN_HOST or FOREIGN_ORIGIN. */
  check(head: RequestHead, reads: boolean): string {
    if (!this.asksForUs(head)) throw new ServiceError("FOREIGN_HOST");
    const cors = this.corsOf(head, reads);
    if (cors === null) throw new ServiceError("FOREIGN_ORIGIN");
    return cors;
  }

  /** Reports whether the Host is one of our names. */
  asksForUs(head: RequestHead): boolean {
    const host = head.get("host");
    if (host === this.#lastHost && host !== "") return true;
    if (!this.#isOwnHost(host)) return false;
    this.#lastHost = host;
    return true;
  }

  /** Like `check`, for a request whose Host is ours; returns null for a page of another origin. */
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
    const scheme = this.#rules.ownScheme ?? "http";
    if (origin === `${scheme}://${host}` || origin === `${scheme}://${host.replace(DEFAULT_PORT[scheme], "")}`)
      return "";
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

  /** `text`: `name` with the port that was sent, if any. */
  #isAllowed(text: string, name: string): boolean {
    const allowed = this.#allowedHosts;
    if (allowed.has(text) || allowed.has(name)) return true;
    // None was sent: it is the port of its scheme, and a proxy's scheme is not known here.
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

/** The browser followed a link to here: the document is separate, and the page with the link cannot read it. */
function isFollowedLink(head: RequestHead): boolean {
  return head.get("sec-fetch-mode") === "navigate" && head.get("sec-fetch-dest") === "document";
}

function corsHeader(origin: string): string {
  return `\r\nAccess-Control-Allow-Origin: ${origin}\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}`;
}
