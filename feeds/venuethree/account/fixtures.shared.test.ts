/** Every private payload of the shared fixtures through the account half's decoders. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { decodeWith, isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { decodeAccountFrame } from "./frames.js";
import { decodeOrders } from "./wire.js";

const FOLDER = join(fileURLToPath(new URL("../../../", import.meta.url)), "..", "shared", "fixtures", "venuethree");
const HAS_FIXTURES = existsSync(FOLDER);
/** One market's channel, which the room does not subscribe; its orders are those of the channel of all. */
const ONE_MARKET = "account_orders";

function payloads(pattern: RegExp): readonly (readonly [string, unknown])[] {
  if (!HAS_FIXTURES) return [];
  return readdirSync(FOLDER)
    .filter((file) => pattern.test(file))
    .flatMap((file) => {
      const content = parseJsonExact(readFileSync(join(FOLDER, file), "utf8"));
      return (Array.isArray(content) ? (content as unknown[]) : [content]).map((each) => [file, each] as const);
    });
}

describe.skipIf(!HAS_FIXTURES)("among private payloads (needs ../shared),", () => {
  it("every account frame is read, or is of a channel that is left alone", () => {
    const kinds = new Set<string>();
    for (const [file, payload] of payloads(/-ws-account-/)) {
      const frame = decodeAccountFrame(JSON.stringify(payload));
      const type = isFields(payload) ? String(payload["type"]) : "";
      const isLeft = type.endsWith("assets") || type.endsWith(ONE_MARKET);
      expect([file, frame.kind === "other"]).toEqual([file, isLeft]);
      expect([file, frame.kind]).not.toEqual([file, "unreadable"]);
      kinds.add(frame.kind);
    }
    expect([...kinds].sort()).toEqual(["orders", "other", "positions", "trades"]);
  });

  it("every list of orders is read", () => {
    let orderCount = 0;
    for (const [file, payload] of payloads(/-http-account-active-orders/)) {
      if (!isFields(payload) || payload["code"] !== 200) continue;
      const decoded = decodeWith(payload, decodeOrders);
      expect([file, decoded.ok]).toEqual([file, true]);
      if (decoded.ok) orderCount += decoded.value.rows.length;
    }
    for (const [file, payload] of payloads(/-ws-account-orders-/)) {
      const lists = isFields(payload) && isFields(payload["orders"]) ? Object.values(payload["orders"]) : [];
      for (const orders of lists) {
        const decoded = decodeWith({ orders }, decodeOrders);
        expect([file, decoded.ok]).toEqual([file, true]);
        if (decoded.ok) orderCount += decoded.value.rows.length;
      }
    }
    expect(orderCount).toBeGreaterThanOrEqual(2);
  });
});
