/** Headers that decide whose account trades, and whether an order is a new one: a second one is refused, never ignored. */
import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const DRY = JSON.stringify({
  ...{ symbol: "BTC", direction: "LONG", size: "0.001", dryRun: true },
  credentials: { venueone: { privateKey: "0xkey-of-one" } },
});

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

function sent(lines: readonly string[]): Promise<string> {
  const head = [
    "POST /api/trade/position/close HTTP/1.1",
    ...["Host: localhost", "Content-Type: application/json", `Content-Length: ${DRY.length}`, ...lines],
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(harness.server.port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n${DRY}`));
    socket.on("error", reject);
    socket.on("data", (bytes) => {
      socket.destroy();
      resolve(bytes.toString("latin1"));
    });
  });
}

it.each(["Idempotency-Key", "X-Wallet-Id", "X-Venue-Credentials"])("two of %s with different values", async (name) => {
  const reply = await sent([`${name}: one`, `${name}: another`]);
  expect(reply).toContain("HTTP/1.1 400");
  expect(reply).toContain("AMBIGUOUS_REQUEST");
});
