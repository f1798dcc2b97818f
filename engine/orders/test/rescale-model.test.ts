/**
 * A contract that its venue lists on another scale at each moment of a close, under a judge that reads the venue's log in
 * units of the asset: nothing is sent for more than is held or was asked for. The service as it is, which the judge must
 * not blame, and a planted fault, which it sees by that check alone.
 *
 * The local venues change their lists too (live-listings.test.ts), but not between the two halves of one close.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import { createHarness } from "./harness.js";

/** Two scales are taken for one. */
const planted = vi.hoisted(() => ({ isOneScale: false }));
vi.mock(import("../../domain/instrument.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    isSameScale: (left, right) => planted.isOneScale || original.isSameScale(left, right),
  };
});

afterEach(() => {
  planted.isOneScale = false;
});

const ACCOUNT = "acct-venueone";
/** 0.4 as it is held; asked for is a part of it, or all. */
const HELD = 0.4;
/** Moments of a close, in virtual ms after it was asked for: before the read, in it, before the decision, after it. */
const MOMENTS_MS = [0, 2, 4, 6, 8, 12, 20, 30];

interface Scene {
  readonly name: string;
  readonly change: Partial<Instrument>;
  readonly size: string;
}

const SCENES: readonly Scene[] = [
  { name: "a coarser lot, a part", change: { qtyDecimals: 2 }, size: "0.25" },
  { name: "a coarser lot, all", change: { qtyDecimals: 2 }, size: "ALL" },
  { name: "a finer lot, all", change: { qtyDecimals: 4 }, size: "ALL" },
];

/** The order of each close in units of the asset, by the scale on which it was formed. */
async function ordered({ change, size }: Scene, atMs: number): Promise<readonly number[]> {
  const harness = createHarness();
  const { clock, one, two } = harness;
  two.setPosition("acct-venuetwo", "LONG", 0);
  const hold = ({ qtyDecimals }: Instrument): void => one.setPosition(ACCOUNT, "LONG", HELD * 10 ** qtyDecimals);
  hold(one.instrument);
  one.readLatencyMs = () => 5;
  // Its answer is waited for while the other's is there.
  two.readLatencyMs = () => 15;
  const restate = (): void => {
    const instrument = { ...one.instrument, ...change };
    Object.assign(one.market, { instrument });
    hold(instrument);
  };
  if (atMs === 0) restate();
  else clock.setTimer(restate, atMs);
  await harness.close({ size });
  return one.log.map(({ command }) => command.qtyLots / 10 ** command.instrument.qtyDecimals);
}

function tooMuch(sizes: readonly number[], { size }: Scene): boolean {
  const most = size === "ALL" ? HELD : Math.min(HELD, Number(size));
  return sizes.some((one) => one > most + 1e-9);
}

describe.each(SCENES)("a close over $name", (scene) => {
  it("sends nothing for more than is held, or asked for", async () => {
    for (const atMs of MOMENTS_MS) expect([atMs, tooMuch(await ordered(scene, atMs), scene)]).toEqual([atMs, false]);
  });
});

it("a trade is seen to send more once two scales are taken for one", async () => {
  planted.isOneScale = true;
  const [, , finer] = SCENES as readonly [Scene, Scene, Scene];
  const found: number[] = [];
  for (const atMs of MOMENTS_MS) if (tooMuch(await ordered(finer, atMs), finer)) found.push(atMs);
  // Listed again in the read: lots of the new scale are taken for lots of the old.
  expect(found).toEqual([2, 4]);
});
