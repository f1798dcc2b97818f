/** Where requests come from, as the checks of keys are shown it. */
import type { HttpResponse } from "uWebSockets.js";
import { expect, it } from "vitest";
import { Addresses } from "./addresses.js";

const IPV6_LOOPBACK = new Uint8Array([...Array<number>(15).fill(0), 1]).buffer;
const from = (address: ArrayBuffer) => ({ getRemoteAddress: () => address }) as unknown as HttpResponse;

it("a caller of a service on IPv6 loopback is shown with its own address, and all of them are one", () => {
  const addresses = new Addresses(true, null, true);
  expect(addresses.textOf(from(IPV6_LOOPBACK), "")).toBe("0:0:0:0:0:0:0:1");
  expect([addresses.isOne, addresses.keyOf(from(IPV6_LOOPBACK), "")]).toEqual([true, "127.0.0.1"]);
});

it("a caller of a service on IPv4 loopback is shown with that address, which is not read", () => {
  const unread = { getRemoteAddress: () => expect.unreachable() } as unknown as HttpResponse;
  expect(new Addresses(true, null).textOf(unread, "")).toBe("127.0.0.1");
});
