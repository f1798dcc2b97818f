import { describe, expect, it } from "vitest";
import { IpList } from "./ip-list.js";
import { PROXY_HOPS_MAX, TrustedProxies, UNREAD_ADDRESS } from "./proxies.js";

function proxies(...entries: string[]): TrustedProxies {
  const list = IpList.parse(entries);
  if (typeof list === "number") throw new Error(`entry ${list}`);
  return new TrustedProxies(list);
}

const PROXY = "10.0.0.1";
const CALLER = "203.0.113.9";

describe("the address of a caller", () => {
  const trusted = proxies("10.0.0.0/8", "2001:db8:aa::/48");

  it.each<[what: string, socket: string, header: string | null, expected: string]>([
    ["is the socket's where that is no proxy, whatever the header says", CALLER, "1.2.3.4", CALLER],
    ["is the proxy's where the header is missing", PROXY, null, PROXY],
    ["is what the proxy saw", PROXY, CALLER, CALLER],
    [
      "is the last that no proxy has: what is left of it was written by the caller",
      PROXY,
      `1.2.3.4, ${CALLER}`,
      CALLER,
    ],
    ["is before all the proxies of the chain", PROXY, `1.2.3.4,${CALLER}, 10.9.9.9 ,2001:db8:aa::7`, CALLER],
    ["is the first proxy's where only proxies are named", PROXY, "10.2.2.2, 10.3.3.3", "10.2.2.2"],
    ["is found behind a proxy that is shown in mapped form", "::ffff:10.0.0.1", CALLER, CALLER],
    ["is found behind a proxy in the long form of a socket", "2001:0db8:00aa:0000:0000:0000:0000:0001", CALLER, CALLER],
    ["has one text", PROXY, "2001:DB8:0:0::1", "2001:db8::1"],
    ["is nobody's where the last entry is none", PROXY, `${CALLER}, unknown`, UNREAD_ADDRESS],
    ["is nobody's where the last entry has a port", PROXY, `${CALLER}:4711`, UNREAD_ADDRESS],
    ["is nobody's where the last entry is empty", PROXY, `${CALLER},`, UNREAD_ADDRESS],
    ["is nobody's where an entry between proxies is none", PROXY, `${CALLER}, x, 10.2.2.2`, UNREAD_ADDRESS],
    ["is nobody's where the header begins with a comma", PROXY, ",10.2.2.2", UNREAD_ADDRESS],
    ["is not moved by what is left of it", PROXY, `${"x".repeat(100_000)}, ${CALLER}`, CALLER],
    ["is nobody's where the last entry is too long", PROXY, `${" ".repeat(100)}${CALLER}`, UNREAD_ADDRESS],
    ["has no line breaks around it", PROXY, `\n${CALLER}`, UNREAD_ADDRESS],
    ["is the socket's text where that is no address", "", CALLER, ""],
  ])("%s", (_what, socket, header, expected) => {
    expect(trusted.callerOf(socket, header)).toBe(expected);
  });

  it("is the socket's with no trusted proxies", () => {
    expect(proxies().callerOf(PROXY, CALLER)).toBe(PROXY);
  });

  it("is nobody's where the chain is longer than its bound", () => {
    const chain = (count: number): string => [CALLER, ...new Array<string>(count).fill("10.2.2.2")].join(", ");
    expect(trusted.callerOf(PROXY, chain(PROXY_HOPS_MAX - 1))).toBe(CALLER);
    expect(trusted.callerOf(PROXY, chain(PROXY_HOPS_MAX))).toBe(UNREAD_ADDRESS);
  });

  it("that cannot be read is on no list, also where that has the proxy's own", () => {
    const list = IpList.parse([PROXY, "0.0.0.0/0", "::/0"]);
    if (typeof list === "number") throw new Error(`entry ${list}`);
    expect(list.has(trusted.callerOf(PROXY, `${CALLER}:4711`))).toBe(false);
    expect(list.has(trusted.callerOf(PROXY, CALLER))).toBe(true);
  });
});
