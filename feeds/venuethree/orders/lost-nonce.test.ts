/**
 * A lost transaction may have spent its nonce, or may spend it yet: until the venue counts beyond it, the venue names
 * each nonce up to it, for one use at once.
 */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Read } from "../../../engine/ports.js";
import { nonceRead, settle, submit, take } from "../test/key-turns.js";
import { KeyLanes } from "./key-lanes.js";

const KEY = "1:4";

function lanesOf({ width = 1, maxKeys = 8 } = {}) {
  const clock = new VirtualClock();
  const lanes = new KeyLanes({ clock, maxKeys, way: () => ({ id: 3, width }) });
  /** A transaction of another key: where few are remembered, the first is forgotten for it. */
  const useAnother = async (): Promise<void> => {
    const other = await submit(lanes, () => nonceRead(1), "trade", 1_000, "2:4");
    if (other.ok) other.turn.end("spent");
  };
  return { clock, lanes, useAnother };
}

/** A read of the nonce that is answered when the test says. */
function slowRead() {
  let answer = (_nonce: number): void => {};
  const read = new Promise<Read<number>>((resolve) => {
    answer = (nonce) => resolve(nonceRead(nonce));
  });
  return { load: () => read, answer };
}

describe("while a transaction is lost,", () => {
  it("a nonce that the venue named and nobody used is not kept: the lost one may have come since", async () => {
    const { clock, lanes } = lanesOf();
    (await take(lanes, () => nonceRead(10))).end("doubtful");
    // Held back by our own limits, or refused for a fault of its own.
    (await take(lanes, () => nonceRead(10))).end("kept");
    clock.advance(5_000);
    expect((await take(lanes, () => nonceRead(11))).nonce).toBe(11);
  });

  it("nonces are not counted on over others that are lost too", async () => {
    const { lanes } = lanesOf({ width: 3 });
    const lost = [await take(lanes, () => nonceRead(10)), await take(lanes), await take(lanes)];
    for (const turn of lost) turn.end("doubtful");
    // The first never came; the second, on another way, comes right behind the one that took the first's nonce.
    (await take(lanes, () => nonceRead(10))).end("spent");
    const next = await take(lanes, () => nonceRead(12));
    expect(next.nonce).toBe(12);
    next.end("spent");
    expect((await take(lanes)).nonce).toBe(13);
  });

  it("an answer of it that comes during the read of the nonce is newer than the read", async () => {
    const { clock, lanes } = lanesOf({ width: 2 });
    const lost = await take(lanes, () => nonceRead(10));
    (await take(lanes)).end("refused");
    clock.advance(250);
    const early = slowRead();
    const reads = [early.load, () => nonceRead(11)];
    const next = submit(lanes, () => reads.shift()?.() ?? nonceRead(99));
    await settle();
    lost.end("spent");
    early.answer(10);
    expect(await next).toMatchObject({ ok: true, turn: { nonce: 11 } });
  });

  it("its nonce is not kept for later either where it is a cancel, which the venue may take for ten minutes", async () => {
    const { clock, lanes } = lanesOf();
    (await take(lanes, () => nonceRead(10))).end("doubtful");
    clock.advance(61_000);
    lanes.hint(KEY, 10, clock.monoNs());
    clock.advance(5_000);
    expect((await take(lanes, () => nonceRead(11))).nonce).toBe(11);
  });

  it("its key is not forgotten before it can come no more", async () => {
    const { clock, lanes, useAnother } = lanesOf({ maxKeys: 1 });
    (await take(lanes, () => nonceRead(10))).end("doubtful");
    clock.advance(600_000);
    await useAnother();
    expect(lanes.keyCount).toBe(2);
    lanes.hint(KEY, 10, clock.monoNs());
    const next = await take(lanes, () => nonceRead(11));
    expect(next.nonce).toBe(11);
    next.end("doubtful");
    clock.advance(610_000);
    await useAnother();
    expect(lanes.keyCount).toBe(1);
    clock.advance(1);
    lanes.hint(KEY, 11, clock.monoNs());
    expect((await take(lanes)).nonce).toBe(11);
  });

  it("its key is not forgotten while it may be refused, and go again in its turn", async () => {
    const { clock, lanes, useAnother } = lanesOf({ width: 2, maxKeys: 1 });
    const lost = await take(lanes, () => nonceRead(10));
    (await take(lanes)).end("refused");
    clock.advance(250);
    (await take(lanes, () => nonceRead(10))).end("spent");
    await useAnother();
    expect(lanes.keyCount).toBe(2);
    lost.end("refused");
    await useAnother();
    expect(lanes.keyCount).toBe(1);
  });
});
