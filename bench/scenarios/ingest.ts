/**
 * Frames decoded and applied per second, recorded market data, everything in memory: ours against
 * `JSON.parse` of the same frames alone (which builds no book), and against the peers' handlers.
 * Each side ends with the same touch as ours, or the run fails. Here venuetwo, whose diffs need a chain of
 * snapshots; the other wire formats are in ingest-formats.ts.
 */
import { Book } from "../../engine/market/book.js";
import { BookSync } from "../../feeds/venuetwo/market/sync.js";
import { VenuetwoDecoder } from "../../feeds/venuetwo/market/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH } from "../../feeds/venuetwo/market/frame.js";
import { Touch } from "../../engine/market/touch.js";
import { compareRates } from "../lib/compare.js";
import { profileTop } from "../lib/profile.js";
import { loadRecording, type RecordedFrame, USDM_RECORDING } from "../lib/recording.js";
import { generateRecording } from "../lib/synthetic-recording.js";
import type { BenchRow, Scenario, ScenarioContext, ScenarioResult } from "../lib/types.js";
import { CcxtBook } from "../peers/ccxt-book.js";
import { TardisBook } from "../peers/tardis-book.js";
import { measureFormats, profileFormats } from "./ingest-formats.js";

const SYMBOL = "BTCUSDT";
const PRICE_DECIMALS = 2;
const QTY_DECIMALS = 3;

interface EndTouch {
  readonly bid: number;
  readonly ask: number;
}

export const ingest: Scenario = {
  name: "ingest",
  title: "Ingest: depth frames of each venue decoded and applied",
  async run(context) {
    const source = context.dataFolder === null ? null : loadRecording(context.dataFolder, USDM_RECORDING);
    const frames = source ?? generateRecording(20_000);
    if (source === null) context.log("no recordings here: a generated tape of the same wire form is played");
    return measure(context, frames);
  },
};

async function measure(context: ScenarioContext, frames: RecordedFrame[]): Promise<ScenarioResult> {
  const runCount = context.smoke ? 1 : 7;
  const mixedLimit = context.smoke ? 5_000 : frames.length;
  const mixed = frames.slice(0, mixedLimit);
  const depth = mixed.filter((frame) => frame.kind !== "other");
  const rows: BenchRow[] = [];
  rows.push(...compare("depth frames", depth, runCount, context));
  rows.push(...compare("all frames (depth, best bid and offer, trades)", mixed, runCount, context));
  const isMissed = (row: BenchRow) => row.goal !== null && row.ratio < row.goal.value;
  const others = measureFormats(context);
  if (context.smoke) return { rows: [...rows, ...others], profile: [] };
  const profile = rows.some(isMissed) ? await profileTop(() => repeat(5, () => runOurs(depth))) : [];
  return {
    rows: [...rows, ...others],
    profile: [...profile, ...(await profileFormats(context, others.filter(isMissed)))],
  };
}

function compare(what: string, frames: RecordedFrame[], runCount: number, context: ScenarioContext): BenchRow[] {
  // The slow peers see a bounded prefix of the same frames; rates compare all the same.
  const prefix = frames.slice(0, context.smoke ? 500 : 8_000);
  const rows = compareRates(`venuetwo: ${what}`, runCount, { frameCount: frames.length, run: () => runOurs(frames) }, [
    { name: "JSON.parse alone", goal: 2, frameCount: frames.length, run: () => runParse(frames) },
    { name: "ccxt pro", goal: 40, frameCount: prefix.length, run: () => runCcxt(prefix) },
    { name: "tardis-dev", goal: 12, frameCount: prefix.length, run: () => runTardis(prefix) },
  ]);
  assertSameTouch(prefix);
  return rows;
}

async function repeat(count: number, work: () => void): Promise<void> {
  for (let round = 0; round < count; round++) work();
}

/**
 * The last run's objects stay reachable, as a running room's do: with none alive, the collection between runs would
 * drop their hidden classes and with them the compiled code, and each run would measure the compiler.
 */
let alive: readonly object[] = [];

function runOurs(frames: readonly RecordedFrame[]): EndTouch {
  const decoder = new VenuetwoDecoder();
  const slot = decoder.register(SYMBOL, PRICE_DECIMALS, QTY_DECIMALS);
  // The venue's increment for this contract, as exchangeInfo states it: 0.1.
  const book = new Book(10);
  const sync = new BookSync(book, () => {});
  const touch = new Touch();
  alive = [decoder, book, sync, touch, ...alive.slice(0, 4)];
  sync.begin();
  const { frame } = decoder;
  for (const recorded of frames) {
    const { bytes } = recorded;
    if (recorded.kind === "snapshot") {
      decoder.decodeSnapshot(bytes, 0, bytes.length, slot);
      sync.onSnapshot(frame, 0);
      continue;
    }
    const kind = decoder.decodeFrame(bytes, 0, bytes.length);
    if (kind === FRAME_DEPTH) sync.onDiff(frame, 0);
    else if (kind === FRAME_BOOK_TICKER) {
      touch.set(
        frame.touchBidTicks,
        frame.touchBidLots,
        frame.touchAskTicks,
        frame.touchAskLots,
        frame.lastId,
        frame.tsEventMs,
        0,
      );
    }
  }
  return { bid: book.bidTicks(0) / 100, ask: book.askTicks(0) / 100 };
}

let parsedCount = 0;
function runParse(frames: readonly RecordedFrame[]): void {
  for (const frame of frames) {
    // Kept reachable, or the compiler may drop the call.
    if ((JSON.parse(frame.text) as object | null) !== null) parsedCount++;
  }
}

function runCcxt(frames: readonly RecordedFrame[]): EndTouch {
  const peer = new CcxtBook(SYMBOL);
  for (const frame of frames) {
    if (frame.kind === "snapshot") peer.applySnapshot(frame.text);
    else peer.applyFrame(frame.text);
  }
  return peer.touch;
}

function runTardis(frames: readonly RecordedFrame[]): EndTouch {
  const peer = new TardisBook(SYMBOL);
  for (const frame of frames) {
    if (frame.kind === "snapshot") peer.applySnapshot(frame.text);
    else peer.applyFrame(frame.text);
  }
  return peer.touch;
}

/** A peer that ended elsewhere would have been measured doing something else. */
function assertSameTouch(frames: readonly RecordedFrame[]): void {
  const ours = runOurs(frames);
  for (const [name, theirs] of [
    ["ccxt", runCcxt(frames)],
    ["tardis-dev", runTardis(frames)],
  ] as const) {
    if (ours.bid !== theirs.bid || ours.ask !== theirs.ask) {
      throw new Error(
        `${name} ends at ${theirs.bid}/${theirs.ask}, ours at ${ours.bid}/${ours.ask} (${parsedCount} parsed)`,
      );
    }
  }
}
