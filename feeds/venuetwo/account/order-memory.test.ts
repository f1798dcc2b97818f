import { describe, expect, it } from "vitest";
import type { AccountSession } from "../../../engine/ports.js";
import { OrderMemory } from "./order-memory.js";
import { openVenuetwoSession } from "./session.js";

function session(apiKey: string, apiSecret = "secret"): AccountSession {
  const opened = openVenuetwoSession({ apiKey, apiSecret });
  if (!opened.ok) throw new Error(opened.problem);
  return opened.session;
}

describe("OrderMemory", () => {
  it("remembers by whole credentials: another session of them knows, other credentials do not", () => {
    const memory = new OrderMemory();
    memory.note(session("key"), "BTCUSDT", "77");
    expect(memory.symbolOf(session("key"), "77")).toBe("BTCUSDT");
    expect(memory.symbolsOf(session("key"))).toEqual(["BTCUSDT"]);
    for (const other of [session("key", "another"), session("other")]) {
      expect(memory.symbolOf(other, "77")).toBeNull();
      expect(memory.symbolsOf(other)).toEqual([]);
    }
    expect(memory.symbolOf(session("key"), "78")).toBeNull();
  });

  it("knows nothing for a closed session it never saw", () => {
    const memory = new OrderMemory();
    const closed = session("key");
    closed.close();
    memory.note(closed, "BTCUSDT", "77");
    expect(memory.symbolOf(closed, "77")).toBeNull();
  });

  it("keeps at most 64 symbols of an account, the latest ones", () => {
    const memory = new OrderMemory();
    const mine = session("key");
    for (let index = 0; index < 70; index++) memory.note(mine, `S${index}`, String(index));
    memory.note(mine, "S10", "again");
    const symbols = memory.symbolsOf(mine);
    expect(symbols).toHaveLength(64);
    expect(symbols.at(-1)).toBe("S10");
    expect(symbols[0]).toBe("S6");
  });

  it("is bounded in orders: the least recently used one goes", () => {
    const memory = new OrderMemory();
    const mine = session("key");
    for (let index = 0; index <= 32_768; index++) memory.note(mine, "BTCUSDT", String(index));
    expect(memory.symbolOf(mine, "0")).toBeNull();
    expect(memory.symbolOf(mine, "32768")).toBe("BTCUSDT");
  });
});
