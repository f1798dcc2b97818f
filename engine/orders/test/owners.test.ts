/**
 * Trades of several owners who hold credentials of the same accounts: each reaches what it made, what others made is to it
 * as if it did not exist, and rows of public mode are those of the owner that adopted them, across restarts.
 */
import { describe, expect, it } from "vitest";
import { Owners } from "../../domain/owner.js";
import { StoredLocalRows } from "../../../gateway/auth/local-rows.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { TradeService } from "../request/service.js";
import type { TradeContext, TradeResult } from "../types.js";
import type { FakeVenue } from "./fake-venue.js";
import { closeContext, closeRequest, createHarness, SECRET_ONE, SECRET_TWO, type Harness } from "./harness.js";

const ALICE = "ow_alice";
const BOB = "ow_bob";
const KEYED = { idempotencyKey: "k" } as const;
const CREDENTIALS = {
  venueone: { account: "acct-venueone", secret: SECRET_ONE },
  venuetwo: { account: "acct-venuetwo", secret: SECRET_TWO },
};
const asker = (ownerId: string | null, seesAll = false) => ({ ownerId, payer: null, seesAll });

function routeIdOf(result: TradeResult): string {
  if (!result.ok) throw new Error(`refused: ${result.code}`);
  return result.data.routing.routeId;
}

/** Answers are lost, and reads find nothing out. Returns the count of reads. */
function loseReplies(venue: FakeVenue): () => number {
  let readCount = 0;
  venue.fate = () => ({ kind: "loseReply" });
  venue.orderReadFailure = () => {
    readCount++;
    return "TIMEOUT";
  };
  return () => readCount;
}

/** What a stranger gets for it, and what for an id that nobody ever had. */
async function answers(harness: Harness, service: TradeService, routeId: string, ownerId: string | null) {
  const unknownId = routeId.replace(/.{4}$/, "ZZZZ");
  const asked = (id: string) => harness.run(service.askExecution(id, CREDENTIALS, asker(ownerId)));
  return {
    read: await harness.run(service.execution(routeId, asker(ownerId))),
    asked: await asked(routeId),
    unknown: await asked(unknownId),
  };
}

describe("an execution", () => {
  it.each([
    ["of known outcome", false],
    ["of unknown outcome", true],
  ])("%s is its owner's and an administrator's, also after a restart, and unknown to others", async (_, isUnknown) => {
    const harness = createHarness();
    if (isUnknown) loseReplies(harness.one);
    const context = { ...KEYED, ownerId: ALICE };
    const routeId = routeIdOf(await harness.close({ size: "0.1", preferredExchange: "venueone" }, context));
    for (const start of [async () => harness.service, () => harness.restart()]) {
      const service = await start();
      for (const stranger of [BOB, null]) {
        const { read, asked, unknown } = await answers(harness, service, routeId, stranger);
        expect(read).toBeNull();
        expect(asked).toEqual(unknown);
        expect(service.status(asker(stranger))).toMatchObject({ unknown: [], open: [], unknownCount: 0, openCount: 0 });
      }
      for (const known of [asker(ALICE), asker(BOB, true)])
        expect(await harness.run(service.execution(routeId, known))).toMatchObject({ routing: { routeId } });
    }
  });

  it("of unknown outcome is not looked up for a stranger with the account's credentials", async () => {
    const harness = createHarness();
    const reads = loseReplies(harness.one);
    const request = { size: "0.1", preferredExchange: "venueone", deadlineMs: 1_000 } as const;
    const routeId = routeIdOf(await harness.close(request, { ownerId: ALICE }));
    const service = await harness.restart();
    const before = reads();
    await answers(harness, service, routeId, BOB);
    expect(reads()).toBe(before);
    await answers(harness, service, routeId, ALICE);
    expect(reads()).toBeGreaterThan(before);
  });

  it("is read from the store for a stranger as an unknown one is, and is not taken into memory", async () => {
    const store = createMemoryStore();
    const harness = createHarness({ store });
    const routeId = routeIdOf(await harness.close({ size: "0.1" }, { ...KEYED, ownerId: ALICE }));
    const gets: string[] = [];
    const { get } = store;
    store.get = (namespace, key) => {
      gets.push(namespace);
      return get.call(store, namespace, key);
    };
    await harness.service.execution(routeId, asker(BOB));
    const ofStranger = gets.splice(0);
    await harness.service.execution("rt_nobodys", asker(BOB));
    expect(ofStranger).toEqual(gets);
  });
});

describe("an Idempotency-Key", () => {
  it("is the owner's: its keys share it, another owner's request of the same text is another", async () => {
    const harness = createHarness();
    const first = await harness.close({ size: "0.1" }, { ...KEYED, ownerId: ALICE });
    expect(await harness.close({ size: "0.1" }, { ...KEYED, ownerId: ALICE })).toMatchObject({ replayed: true });
    const second = await harness.close({ size: "0.1" }, { ...KEYED, ownerId: BOB });
    expect(second).toMatchObject({ ok: true, replayed: false });
    expect(routeIdOf(second)).not.toBe(routeIdOf(first));
    expect(harness.one.log.length + harness.two.log.length).toBe(2);
  });

  it("with the same body for other accounts of the owner is another request", async () => {
    const harness = createHarness({ prepareVenue: (venue) => venue.setPosition("other", "LONG", 400) });
    const context = { ...KEYED, ownerId: ALICE };
    await harness.close({ size: "0.1", preferredExchange: "venueone" }, context);
    const credentials = { venueone: { account: "other", secret: SECRET_ONE } };
    const other = await harness.close({ size: "0.1", preferredExchange: "venueone", credentials }, context);
    expect(other).toMatchObject({ ok: false, code: "IDEMPOTENCY_MISMATCH" });
    expect(harness.one.log).toHaveLength(1);
  });
});

describe("a quote", () => {
  it("of another owner is unknown, used or not, with or without credentials of its accounts", async () => {
    const harness = createHarness();
    const dry = await harness.closeData({ dryRun: true, size: "0.1" }, { ownerId: ALICE });
    const terms = { symbol: "BTC", side: "SELL", size: "0.1", maxSlippageBps: 100, maxQuoteAgeMs: 1e9 } as const;
    const quoted = harness.service.quote({ ...terms, preferredExchange: null, excludeExchanges: [] }, ALICE);
    if (!quoted.ok) throw new Error(quoted.code);
    const unknown = await harness.close({ size: "0.1", quoteId: "0".repeat(32) }, { ownerId: BOB });
    for (const quoteId of [dry.quote?.quoteId ?? "", quoted.quote.quoteId])
      expect(await harness.close({ size: "0.1", quoteId }, { ownerId: BOB })).toEqual(unknown);
    expect(unknown).toMatchObject({ code: "QUOTE_UNKNOWN" });
    const own = await harness.close({ size: "0.1", quoteId: dry.quote?.quoteId ?? "" }, { ownerId: ALICE });
    expect(own).toMatchObject({ ok: true });
    expect(await harness.close({ size: "0.1", quoteId: dry.quote?.quoteId ?? "" }, { ownerId: BOB })).toEqual(unknown);
  });
});

describe("rows of public mode", () => {
  /** The next start, in signed mode, after `ownerId` adopted them (null: nobody did). */
  async function signedStart(
    harness: Harness,
    adoption: StoredLocalRows,
    ownerId: string | null,
  ): Promise<TradeService> {
    if (ownerId !== null) {
      await harness.store.commit({ writes: adoption.adopt(ownerId) });
      adoption.adopted(ownerId);
    }
    return harness.restart();
  }

  async function publicHarness(): Promise<{ harness: Harness; adoption: StoredLocalRows }> {
    const store = createMemoryStore();
    const adoption = await StoredLocalRows.open(store);
    return { adoption, harness: createHarness({ store, service: { owners: new Owners(adoption) } }) };
  }

  const context = (harness: Harness, overrides: Partial<TradeContext>) => closeContext(harness.clock, overrides);

  it("belong to nobody but the administrator without an adoption", async () => {
    const { adoption, harness } = await publicHarness();
    const routeId = routeIdOf(await harness.close({ size: "0.1" }, { ...KEYED, ownerId: null }));
    const service = await signedStart(harness, adoption, null);
    expect(await harness.run(service.execution(routeId, asker(ALICE)))).toBeNull();
    expect(await harness.run(service.execution(routeId, asker(ALICE, true)))).not.toBeNull();
  });

  it("are the adopting owner's, and nobody else's", async () => {
    const { adoption, harness } = await publicHarness();
    const routeId = routeIdOf(await harness.close({ size: "0.1" }, { ...KEYED, ownerId: null }));
    const service = await signedStart(harness, adoption, ALICE);
    expect(await harness.run(service.execution(routeId, asker(ALICE)))).toMatchObject({ routing: { routeId } });
    expect(await harness.run(service.execution(routeId, asker(BOB)))).toBeNull();
  });

  it.each([
    ["answered", false],
    ["cut short by the restart", true],
  ])("a request with a key that was %s is found by the adopting owner's retry: no second order", async (_, isCut) => {
    const { adoption, harness } = await publicHarness();
    const request = closeRequest({ size: "0.1", preferredExchange: "venueone" });
    if (isCut) harness.one.fate = () => ({ kind: "loseReply" });
    const first = harness.service.trade(request, context(harness, { ...KEYED, ownerId: null }));
    if (isCut) await harness.clock.advanceAsync(50);
    else await harness.run(first);
    expect(harness.one.log).toHaveLength(1);
    const service = await signedStart(harness, adoption, ALICE);
    harness.one.fate = () => ({ kind: "fill" });
    const again = await harness.run(service.trade(request, context(harness, { ...KEYED, ownerId: ALICE })));
    expect(again).toMatchObject({ ok: true, replayed: true });
    expect(harness.one.log).toHaveLength(1);
    const other = context(harness, { ...KEYED, ownerId: ALICE, rawBody: Buffer.from('{"size":"0.2"}') });
    expect(await harness.run(service.trade({ ...request, size: "0.2" }, other))).toMatchObject({
      code: "IDEMPOTENCY_MISMATCH",
    });
    // To everybody else the key is new.
    const stranger = await harness.run(service.trade(request, context(harness, { ...KEYED, ownerId: BOB })));
    expect(stranger).toMatchObject({ replayed: false });
    expect(harness.one.log).toHaveLength(2);
  });

  it("are adopted for good", async () => {
    const store = createMemoryStore();
    await store.commit({ writes: (await StoredLocalRows.open(store)).adopt(ALICE) });
    const adoption = await StoredLocalRows.open(store);
    expect(adoption.adoptedBy()).toBe(ALICE);
    const owners = new Owners(adoption);
    expect([owners.effectiveOwner(null), owners.effectiveOwner(BOB)]).toEqual([ALICE, BOB]);
    expect(new Owners().effectiveOwner(null)).toBe("local");
    // A caller without a key reaches what was made without one, and nothing of the adopting owner's own.
    expect([owners.reaches(null, null), owners.reaches(null, ALICE)]).toEqual([true, false]);
  });
});
