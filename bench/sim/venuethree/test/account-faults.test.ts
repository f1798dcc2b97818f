/** Fault knobs on the account side: what is executed, what is answered, and what the order log says of it afterwards. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FaultSpec } from "../../core/server/fault-types.js";
import type { Listener } from "../../core/test/listener.js";
import { connect } from "./support.js";
import { startTraders, type Trader, type TraderVenue } from "./trader.js";

describe("faults of transactions", () => {
  let bench: TraderVenue;
  let trader: Trader;
  beforeEach(async () => {
    bench = await startTraders();
    ({ trader } = bench);
  });
  afterEach(() => bench.venue.stop());

  /** A market order under a fault: HTTP status (0: cut) and whether it was executed. */
  const sendUnder = async (fault: FaultSpec): Promise<{ status: number; executed: boolean }> => {
    bench.venue.faults.add({ match: "sendTx", count: 1, ...fault });
    const { text } = trader.sign(14, trader.order({ type: 1, client: 7, price: trader.touch("SELL") + 5_000 }));
    const status = await trader.post("sendTx", { tx_type: "14", tx_info: text }).then(
      (answer) => answer.status,
      () => 0,
    );
    trader.settle();
    const records = bench.venue.log.records({ accountId: "65", clientId: "7" });
    return { status, executed: records.some((record) => record.status === "FILLED") };
  };

  it.each([
    ["a request that never arrives", { kind: "loss" }, 0, false],
    ["a server error before execution", { kind: "errorBefore", status: 500 }, 500, false],
    ["a rate limit", { kind: "rate429" }, 429, false],
    ["a server error after execution", { kind: "errorAfter", status: 500 }, 500, true],
    ["a lost reply", { kind: "replyLost" }, 0, true],
  ] as const)("%s", async (_what, fault, status, executed) => {
    const refusesJson = fault.kind === "errorBefore" || fault.kind === "errorAfter" || fault.kind === "rate429";
    expect(await sendUnder(fault)).toEqual({ status: refusesJson ? status : 0, executed });
    // The nonce is the proof that a client reads afterwards.
    const { json } = await trader.read("nextNonce?account_index=65&api_key_index=5", null);
    expect(json.nonce).toBe(executed ? 2 : 1);
  });

  it("delays a reply, not what it is about", async () => {
    bench.venue.faults.add({ kind: "fixedDelay", match: "sendTx", delayMs: 5_000, count: 1 });
    const { text } = trader.sign(14, trader.order({ type: 1, client: 7, price: trader.touch("SELL") + 5_000 }));
    let answered = false;
    const answer = trader.post("sendTx", { tx_type: "14", tx_info: text }).then((reply) => {
      answered = true;
      return reply;
    });
    while (bench.venue.log.records({ clientId: "7" }).length === 0) await trader.read("accountLimits?account_index=65");
    bench.clock.advance(1_000);
    expect(bench.venue.log.records({ clientId: "7" })[0]?.status).toBe("FILLED");
    expect(answered).toBe(false);
    bench.clock.advance(5_000);
    expect((await answer).status).toBe(200);
  });

  it("skews the clock that expiries and tokens are judged by", async () => {
    const token = trader.token(60);
    bench.venue.faults.add({ kind: "clockSkew", delayMs: 120_000 });
    expect((await trader.read("accountLimits?account_index=65", token)).json).toMatchObject({ code: 20013 });
    const early = {
      ...trader.order({ tif: 2, price: trader.touch("BUY") - 900 }),
      ExpiredAt: bench.clock.wallMs() + 60_000,
    };
    expect((await trader.send(14, early)).json.code).toBe(21711);
  });

  describe("over the socket", () => {
    let listener: Listener;
    beforeEach(async () => {
      listener = await connect(bench.venue);
    });
    afterEach(() => listener.socket.terminate());

    const send = (client: number): void => {
      const fields = trader.order({ type: 1, client, price: trader.touch("SELL") + 5_000 });
      const { text } = trader.sign(14, fields);
      listener.send({ type: "jsonapi/sendtx", data: { id: "q", tx_type: 14, tx_info: JSON.parse(text) as unknown } });
    };
    const executed = (client: number): boolean => {
      trader.settle();
      return bench.venue.log.records({ clientId: String(client) }).some((record) => record.status === "FILLED");
    };

    it("loses a message, refuses it, or fails after execution", async () => {
      const { faults } = bench.venue;
      faults.add({ kind: "loss", match: "jsonapi/sendtx", count: 1 });
      send(1);
      await listener.drained();
      expect(listener.frames).toHaveLength(1);
      expect(executed(1)).toBe(false);
      faults.add({ kind: "rate429", match: "jsonapi/sendtx", count: 1 });
      send(2);
      expect(await listener.waitFor((frame) => frame.id === "q")).toMatchObject({ error: { code: 23000 } });
      expect(executed(2)).toBe(false);
      faults.add({ kind: "errorAfter", match: "jsonapi/sendtx", count: 1 });
      send(3);
      await listener.waitForCount(2, (frame) => frame.id === "q");
      expect(listener.frames.at(-1)).toMatchObject({ error: { code: 29500 }, id: "q" });
      expect(executed(3)).toBe(true);
    });

    it("holds a message back, and executes it whether or not its sender is still connected", async () => {
      bench.venue.faults.add({ kind: "heldRequest", match: "POST /api/v1/sendTx", delayMs: 3_000, count: 1 });
      send(5);
      await listener.drained();
      bench.clock.advance(2_900);
      expect(bench.venue.log.records({ clientId: "5" })).toEqual([]);
      listener.socket.terminate();
      await listener.closed;
      bench.clock.advance(200);
      expect(executed(5)).toBe(true);
    });

    it("cuts between execution and reply", async () => {
      bench.venue.faults.add({ kind: "replyLost", match: "jsonapi/sendtx", count: 1 });
      send(4);
      expect(await listener.closed).toBe(1006);
      expect(executed(4)).toBe(true);
    });

    it("meets the faults of the REST call too, and its answers those of frames", async () => {
      const { faults } = bench.venue;
      faults.add({ kind: "errorBefore", match: "POST /api/v1/sendTx", count: 1 });
      send(1);
      expect(await listener.waitFor((frame) => frame.id === "q")).toMatchObject({ error: { code: 29500 } });
      expect(executed(1)).toBe(false);
      faults.add({ kind: "loss", match: "txAnswer", count: 1 });
      send(2);
      await listener.drained();
      expect(executed(2)).toBe(true);
      expect(listener.frames.filter((frame) => frame.id === "q")).toHaveLength(1);
      faults.add({ kind: "disconnect", match: "txAnswer", count: 1 });
      trader.nonce++;
      send(3);
      expect(await listener.closed).toBe(1006);
      expect(executed(3)).toBe(true);
    });

    it("takes what one socket wrote in its order, and in another where the quirk says so", async () => {
      const burst = async (first: number): Promise<number> => {
        for (let client = first; client < first + 12; client++) {
          send(client);
          trader.nonce++;
        }
        // Time has to pass for the quirk, and sockets need turns.
        for (let turn = 0; turn < 4; turn++) {
          await listener.drained();
          bench.clock.advance(10);
        }
        await listener.drained();
        const taken = listener.frames.splice(0).filter((frame) => frame.code === 200).length;
        trader.nonce += taken - 12;
        return taken;
      };
      expect(await burst(10)).toBe(12);
      bench.venue.room.setQuirks({ unorderedTransactions: true });
      expect(await burst(30)).toBeLessThan(12);
    });

    it("drops and repeats frames of accounts by their own scope, and does not touch the market", async () => {
      listener.send({ type: "subscribe", channel: "account_all_orders/65", auth: trader.token() });
      listener.send({ type: "subscribe", channel: "height" });
      await listener.drained();
      bench.venue.faults.add({ kind: "loss", scope: ["user"], match: "account_all_orders", count: 1 });
      bench.venue.faults.add({ kind: "duplicate", scope: ["user"], match: "account_all_orders", count: 2 });
      send(5);
      await listener.drained();
      trader.settle();
      await listener.drained();
      const updates = listener.frames.filter((frame) => frame.type === "update/account_all_orders");
      expect(updates).toEqual([]);
      send(5);
      trader.nonce++;
      send(6);
      await listener.drained();
      trader.settle();
      await listener.drained();
      const later = listener.frames.filter((frame) => frame.type === "update/account_all_orders");
      expect(later).toHaveLength(2);
      expect(later[0]).toEqual(later[1]);
      expect(listener.frames.some((frame) => frame.type === "update/height")).toBe(true);
    });
  });
});
