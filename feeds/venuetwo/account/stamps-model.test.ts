/**
 * What venuetwo's account events say of their own time, under the judge of stamped-account.ts: the room as it is, which
 * it must not blame, and one planted fault for each check. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { believeProofs, judgeStamps, type StampCheck, type StampedAccount } from "../../shared/test/stamped-account.js";
import { AccountState } from "./state.js";
import { accountUpdate, position, session, streamsOf, Truth } from "../test/account-harness.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];

afterEach(() => {
  vi.restoreAllMocks();
});

interface Options {
  /** No stamp is of a time that is not yet. */
  readonly believesAll?: boolean;
}

async function account({ believesAll = false }: Options): Promise<StampedAccount> {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  network.pong = "";
  const truth = new Truth(clock);
  let aheadMs = 0;
  const streams = streamsOf({
    clock,
    network,
    truth,
    aheadMs: () => aheadMs,
    ...(believesAll ? { latestVenueMs: () => Number.POSITIVE_INFINITY } : {}),
  });
  const opened = streams.openAccountStream(session("a"), () => {});
  if (!opened.ok) throw new Error(opened.problem);
  const { stream } = opened;
  await clock.advanceAsync(10);
  network.last.open();
  await clock.advanceAsync(10);
  return {
    clock,
    isOrdered: true,
    comparedMs: 75_000,
    measure: (measuredMs) => {
      aheadMs = measuredMs;
    },
    tell: (lots, stampMs) => network.last.receive(accountUpdate(String(lots / 1_000), stampMs)),
    hold: (lots) => {
      truth.positions = [position(lots, clock.trueMs())];
    },
    alive: () => network.last.handlers.onControl(),
    shown: () => {
      const read = stream.state === "LIVE" ? stream.positions() : null;
      return read?.ok === true ? { lots: read.value[0]?.qtyLots ?? 0, asOfMs: read.asOfMs } : null;
    },
  };
}

/** What is applied is of the newest time that was seen. */
function asIfNewest(): void {
  const { applyPositions } = AccountState.prototype;
  let newestMs = 0;
  vi.spyOn(AccountState.prototype, "applyPositions").mockImplementation(function (
    this: AccountState,
    rows,
    tsEventMs,
    instrumentOf,
  ) {
    newestMs = Math.max(newestMs, tsEventMs ?? 0);
    return applyPositions.call(this, rows, tsEventMs === null ? null : newestMs, instrumentOf);
  });
}

interface Mutant {
  readonly name: string;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [StampCheck, ...StampCheck[]];
  readonly options?: Options;
  readonly plant?: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "an event's own stamp is believed whatever it says",
    checks: ["HELD", "AS_OF"],
    options: { believesAll: true },
  },
  {
    name: "what was taken bars what is older for ever",
    checks: ["HELD"],
    plant: () => void vi.spyOn(AccountState.prototype, "forgetBeyond").mockReturnValue(),
  },
  {
    name: "an older event undoes a newer one",
    checks: ["HELD"],
    plant: asIfNewest,
  },
  {
    name: "a proof counts by the time that it names",
    checks: ["AS_OF"],
    plant: believeProofs,
  },
];

describe("the judge of stamps, on venuetwo,", () => {
  it.each(SEEDS)("has nothing to say of the room as it is, seed %i", async (seed) => {
    expect([...(await judgeStamps(await account({}), seed))]).toEqual([]);
  });

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, options = {}, plant }) => {
    plant?.();
    for (const seed of SEEDS) {
      const found = await judgeStamps(await account(options), seed);
      expect([...found.keys()].sort()).toEqual([...checks].sort());
      expect([...(await judgeStamps(await account(options), seed, checks))]).toEqual([]);
    }
  });
});
