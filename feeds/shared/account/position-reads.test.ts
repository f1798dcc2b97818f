/** Reads of positions over streamed accounts: what is used in place of the venue's answer, who sees it, and what is asked instead. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { type AccountUse, PositionReads, type StreamedAccounts, type VenueReader } from "./position-reads.js";
import { ConnectionLife } from "./connection-life.js";
import { type LiveRead, StreamedReads, type WantedLots } from "./streamed-reads.js";
import { VerifiedReads } from "./verified-reads.js";

const OPTIONS = { timeoutMs: 1_000, lane: "exit" } as const;
const BTC = { nativeSymbol: "BTC" } as Instrument;
const ETH = { nativeSymbol: "ETH" } as Instrument;
const of = (nativeSymbol: string, qtyLots: number): VenuePosition => ({ nativeSymbol, qtyLots }) as VenuePosition;
const streamed = [of("BTC", 5), of("ETH", 6)];
const atVenue = [of("BTC", 7), of("ETH", 8)];

interface Caller {
  readonly account: string;
  readonly reader: string;
}

let clock: VirtualClock;
/** Whom the room knows without a question. */
let known: Map<string, Caller>;
let resolveMs: number;
let resolved: Read<Caller> | null;
let trusted: LiveRead | null;
let wanted: (WantedLots | null)[];
let uses: [string, AccountUse][];
let payers: (string | null)[];
let asked: string[];
let compared: string[];

const session = (accountId: string, payer: string | null = null): AccountSession => ({
  venue: "venuetwo",
  accountId,
  payer,
  close: () => {},
});
const caller = (account: string, reader = ""): Caller => ({ account, reader });

/** A streamed account of these credentials; what it holds at least is one lot more than was read. */
function stream(name: string) {
  return {
    name,
    reads: new StreamedReads(clock, new ConnectionLife(clock)),
    compare: (instrument: Instrument | null, read: readonly VenuePosition[]) => {
      compared.push(`${name} ${instrument?.nativeSymbol ?? "all"}`);
      return read.map((position) => ({ ...position, qtyLots: position.qtyLots + 1 }));
    },
  };
}

let streams: ReturnType<typeof stream>[];

function reads(readsWhole = false): PositionReads<Caller> {
  const accounts: StreamedAccounts<Caller> = {
    known: ({ accountId }) => known.get(accountId) ?? null,
    resolve: async ({ accountId }) => {
      clock.advance(resolveMs);
      const value = known.get(accountId) ?? caller(accountId);
      return resolved ?? { ok: true, value, asOfMs: 0, source: "venue" };
    },
    nameOf: ({ account }) => account,
    readerOf: ({ reader }) => reader,
    standing: (_, lots) => {
      wanted.push(lots);
      return trusted;
    },
    watched: () => streams,
    own: ({ reader }) => streams.find(({ name }) => name === reader) ?? null,
    noteUse: ({ account }, use, payer) => {
      uses.push([account, use]);
      payers.push(payer);
    },
  };
  const rest = {
    readPositions: async (
      { accountId }: AccountSession,
      instrument: Instrument | null,
      { timeoutMs }: typeof OPTIONS,
    ) => {
      asked.push(`${accountId} ${instrument?.nativeSymbol ?? "all"} ${timeoutMs}`);
      // The venue's answer names the account.
      known.set(accountId, known.get(accountId) ?? caller(accountId));
      const value =
        instrument === null ? atVenue : atVenue.filter((one) => one.nativeSymbol === instrument.nativeSymbol);
      return { ok: true, value, asOfMs: clock.wallMs(), source: "venue" } as const;
    },
  } as unknown as VenueReader;
  return new PositionReads({ rest, accounts, verified: new VerifiedReads(clock), readsWhole });
}

const lotsOf = (read: Read<readonly VenuePosition[]> | null): unknown =>
  read?.ok === true ? [read.source, ...read.value.map(({ qtyLots }) => qtyLots)] : (read?.code ?? null);

beforeEach(() => {
  clock = new VirtualClock();
  known = new Map([["alice", caller("alice", "own")]]);
  resolveMs = 0;
  resolved = null;
  trusted = { ok: true, value: streamed, asOfMs: 3, source: "stream" };
  wanted = [];
  uses = [];
  payers = [];
  asked = [];
  compared = [];
  streams = [];
});

describe("positions in hand", () => {
  it("are those of one contract where they are trusted for what is wanted of it", () => {
    expect(lotsOf(reads().heldPositions(session("alice"), BTC))).toEqual(["stream", 5]);
    expect(lotsOf(reads().heldPositions(session("alice"), ETH, 4))).toEqual(["stream", 6]);
    expect(wanted).toEqual([null, { coin: "ETH", lots: 4 }]);
    expect([uses, asked]).toEqual([
      [
        ["alice", "TRADED"],
        ["alice", "TRADED"],
      ],
      [],
    ]);
  });

  it("are none where they are not trusted, or where the venue has not confirmed whose the session is", () => {
    trusted = null;
    expect(reads().heldPositions(session("alice"), BTC)).toBeNull();
    trusted = { ok: true, value: streamed, asOfMs: 3, source: "stream" };
    expect(reads().heldPositions(session("bob"), BTC)).toBeNull();
    expect([uses, asked]).toEqual([[], []]);
  });
});

describe("a read of positions", () => {
  it("is answered by the stream where that is trusted, of one contract or of all", async () => {
    expect(lotsOf(await reads().readPositions(session("alice"), null, OPTIONS))).toEqual(["stream", 5, 6]);
    expect(lotsOf(await reads().readPositions(session("alice"), ETH, OPTIONS))).toEqual(["stream", 6]);
    expect([asked, wanted]).toEqual([[], [null, null]]);
    expect(uses).toEqual([
      ["alice", "SHOWN"],
      ["alice", "TRADED"],
    ]);
  });

  it("is a use of the account by who pays", async () => {
    const reader = reads();
    await reader.readPositions(session("alice", "pk_one"), null, OPTIONS);
    await reader.verifyPositions(session("alice", "pk_two"), BTC, OPTIONS);
    reader.heldPositions(session("alice"), BTC);
    expect(payers).toEqual(["pk_one", "pk_two", null]);
  });

  it("is the venue's where nothing is trusted, and no other account's where the session is not known", async () => {
    expect(lotsOf(await reads().readPositions(session("bob"), BTC, OPTIONS))).toEqual(["venue", 7]);
    expect([asked, wanted, uses]).toEqual([["bob BTC 1000"], [], [["bob", "TRADED"]]]);
    trusted = null;
    expect(lotsOf(await reads().readPositions(session("alice"), null, OPTIONS))).toEqual(["venue", 7, 8]);
    // What is only read is not compared.
    expect(compared).toEqual([]);
  });
});

describe("a verified read of positions", () => {
  it("is the venue's, also where the stream is trusted; each stream is compared with it, and the caller's own says what is held at least", async () => {
    streams = [stream("other"), stream("own")];
    expect(lotsOf(await reads().verifyPositions(session("alice"), BTC, OPTIONS))).toEqual(["venue", 8]);
    expect([compared, uses]).toEqual([["other BTC", "own BTC"], [["alice", "TRADED"]]]);
  });

  it("shows nothing of a stream that other credentials opened", async () => {
    streams = [stream("other")];
    expect(lotsOf(await reads().verifyPositions(session("alice"), BTC, OPTIONS))).toEqual(["venue", 7]);
    expect(compared).toEqual(["other BTC"]);
  });

  it("is shared by callers of one contract, and by those of any where a read returns all", async () => {
    streams = [stream("own")];
    const both = async (readsWhole: boolean): Promise<unknown> => {
      const reader = reads(readsWhole);
      const [btc, eth, again] = await Promise.all([
        reader.verifyPositions(session("alice"), BTC, OPTIONS),
        reader.verifyPositions(session("alice"), ETH, OPTIONS),
        reader.verifyPositions(session("alice"), BTC, OPTIONS),
      ]);
      return [btc, eth, again].map(lotsOf);
    };
    const answers = [
      ["venue", 8],
      ["venue", 9],
      ["venue", 8],
    ];
    expect(await both(false)).toEqual(answers);
    expect(asked).toEqual(["alice BTC 1000", "alice ETH 1000"]);
    asked = [];
    expect(await both(true)).toEqual(answers);
    expect(asked).toEqual(["alice all 1000"]);
  });

  it("is not shared with other credentials of the same account where they may not see each other's", async () => {
    known.set("alice again", caller("alice", "other"));
    const reader = reads();
    await Promise.all([
      reader.verifyPositions(session("alice"), BTC, OPTIONS),
      reader.verifyPositions(session("alice again"), BTC, OPTIONS),
    ]);
    expect(asked).toHaveLength(2);
  });

  it("is not shared with another API key, whose share of the lane may be used up", async () => {
    const reader = reads();
    await Promise.all([
      reader.verifyPositions(session("alice", "pk_busy"), BTC, OPTIONS),
      reader.verifyPositions(session("alice", "pk_other"), BTC, OPTIONS),
      reader.verifyPositions(session("alice", "pk_other"), BTC, OPTIONS),
    ]);
    expect(asked).toHaveLength(2);
  });

  it("has what remains of the caller's time after the question for the account, and fails where that is nothing", async () => {
    resolveMs = 400;
    await reads().verifyPositions(session("alice"), BTC, OPTIONS);
    expect(asked).toEqual(["alice BTC 600"]);
    resolveMs = 1_000;
    expect(lotsOf(await reads().verifyPositions(session("alice"), BTC, OPTIONS))).toBe("TIMEOUT");
    expect(asked).toHaveLength(1);
  });

  it("fails as the question for the account does, and asks for no positions then", async () => {
    resolved = failedRead("AUTH", "the key is nobody's");
    expect(await reads().verifyPositions(session("alice"), BTC, OPTIONS)).toEqual(resolved);
    expect([asked, uses]).toEqual([[], []]);
  });
});
