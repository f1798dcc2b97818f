/**
 * The address of a caller, where proxies stand before this service.
 *
 * `X-Forwarded-For` counts only on connections of a trusted proxy. It is read from its right end, where each proxy adds
 * the address that it saw: entries of trusted proxies are skipped, and the first other one is the caller. What a caller
 * wrote itself is left of that and is never read, however long it is.
 *
 * An entry that is no address ends the search with a text that is on no list: no address is better than a guessed one,
 * and the proxy's own could be on the list of a key, which would then work from everywhere.
 */
import { type Address, addressText, parseAddress } from "./ip-address.js";
import type { IpList } from "./ip-list.js";

/** Who cannot be told from the header; no address is written so. All of them share the limits of one address. */
export const UNREAD_ADDRESS = "unknown";
/** Proxies of one chain. Beyond it nothing is read. */
export const PROXY_HOPS_MAX = 16;
/** Of one entry with the blanks around it. */
const ENTRY_CHARS_MAX = 64;

export class TrustedProxies {
  readonly #trusted: IpList;

  /** Addresses and CIDR blocks of the proxies; none: the header never counts. */
  constructor(trusted: IpList) {
    this.#trusted = trusted;
  }

  /**
   * `socketAddress`: as the server gives it. `forwardedFor`: all headers of that name in their order, joined by commas;
   * null or "" where there is none, which leaves the proxy itself. Returns the one text of the address (addressText),
   * UNREAD_ADDRESS where the header has none at that place, or `socketAddress` as it is where that is none.
   */
  callerOf(socketAddress: string, forwardedFor: string | null): string {
    const socket = parseAddress(socketAddress);
    if (socket === null) return socketAddress;
    const own = addressText(socket);
    if (forwardedFor === null || forwardedFor === "" || !this.#trusted.has(own)) return own;
    return this.#firstStranger(forwardedFor);
  }

  #firstStranger(forwardedFor: string): string {
    let end = forwardedFor.length;
    for (let hop = 0; hop < PROXY_HOPS_MAX; hop++) {
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(",", end - 1);
      const entry = end - comma > ENTRY_CHARS_MAX ? null : entryOf(forwardedFor.slice(comma + 1, end));
      if (entry === null) return UNREAD_ADDRESS;
      const leftmost = addressText(entry);
      if (!this.#trusted.has(leftmost)) return leftmost;
      // Only proxies asked: the first of them is the caller.
      if (comma === -1) return leftmost;
      end = comma;
    }
    return UNREAD_ADDRESS;
  }
}

/** Blanks and tabs may be around an entry (RFC 9110), nothing else. */
function entryOf(text: string): Address | null {
  return parseAddress(text.replace(/^[ \t]+|[ \t]+$/g, ""));
}
