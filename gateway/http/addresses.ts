// hot path
/**
 * Where a request comes from: as the key of its rate limits, and as a text for the checks of keys. The socket's address,
 * unless trusted proxies are configured (`AddressOf`, caller.ts).
 *
 * A service bound to loopback without such proxies does not read addresses: every caller is on this machine. Where that
 * may be IPv6, the text is read all the same: an IP list of a key names the one or the other.
 */
import type { HttpResponse } from "uWebSockets.js";
import type { AddressOf } from "./caller.js";
import { callerKey } from "./limiter.js";

export const LOOPBACK = "127.0.0.1";
const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

export class Addresses {
  readonly #loopbackOnly: boolean;
  readonly #addressOf: AddressOf | null;

  readonly #mayBeIpv6: boolean;

  constructor(loopbackOnly: boolean, addressOf: AddressOf | null, mayBeIpv6 = false) {
    this.#loopbackOnly = loopbackOnly;
    this.#addressOf = addressOf;
    this.#mayBeIpv6 = mayBeIpv6;
  }

  /** Every request has the same address. */
  get isOne(): boolean {
    return this.#loopbackOnly && this.#addressOf === null;
  }

  /** The name of its rate limits. Must be called within the handler, like `textOf`. */
  keyOf(response: HttpResponse, forwardedFor: string): string {
    if (this.isOne) return LOOPBACK;
    if (this.#addressOf === null) return callerKey(response.getRemoteAddress());
    return callerKeyOfText(this.textOf(response, forwardedFor));
  }

  textOf(response: HttpResponse, forwardedFor: string): string {
    if (this.isOne && !this.#mayBeIpv6) return LOOPBACK;
    const socketAddress = addressText(response.getRemoteAddress());
    return this.#addressOf === null ? socketAddress : this.#addressOf(socketAddress, forwardedFor);
  }
}

/** IPv4 in dots, also where it is mapped into IPv6; IPv6 as eight groups without leading zeros. */
export function addressText(address: ArrayBuffer): string {
  const key = callerKey(address);
  if (!key.startsWith("6:")) return key;
  const view = new DataView(address);
  const groups: string[] = [];
  for (let offset = 0; offset < 16; offset += 2) groups.push(view.getUint16(offset).toString(16));
  return groups.join(":");
}

/** Like `callerKey`, for a text that `AddressOf` returned: an IPv6 address in any spelling is its /64. */
function callerKeyOfText(text: string): string {
  if (!text.includes(":")) return text;
  const [, mapped] = MAPPED.exec(text) ?? [];
  if (mapped !== undefined) return mapped;
  const [head = "", tail = ""] = text.split("::", 2);
  const first = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const zeros = text.includes("::") ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill("0") : [];
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16));
  return `6:${groups.flatMap((group) => [group >> 8, group & 0xff]).join(".")}`;
}
