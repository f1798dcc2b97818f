/**
 * The routing decision alone, and the path of a tick: frame bytes → book → best exit over two venues
 * recomputed. No I/O; one recorded (or generated) venue drives, the other stands beside it.
 */
import { createMarket, type Market } from "../../engine/market/market.js";
import { decideRoute } from "../../engine/routing/decide.js";
import { setSizeText } from "../../engine/routing/route-input.js";
import { Decision, RouteInput } from "../../engine/routing/route-types.js";
import { BookSync } from "../../feeds/venuetwo/book-sync.js";
import { VenuetwoDecoder } from "../../feeds/venuetwo/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH } from "../../feeds/venuetwo/frame.js";
import { VENUEONE_BTC, VENUETWO_BTC } from "../lib/instruments.js";
import { profileTop } from "../lib/profile.js";
import { loadRecording, type RecordedFrame, USDM_RECORDING } from "../lib/recording.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { generateRecording } from "../lib/synthetic-recording.js";
import type { BenchRow, Scenario, ScenarioContext, ScenarioResult } from "../lib/types.js";

const CLOSE_SIZE = "0.25";

export const decision: Scenario = {
  name: "decision",
  title: "Tick to decision, and the decision alone",
  async run(context) {
    const frames =
      context.dataFolder === null ? generateRecording(20_000) : loadRecording(context.dataFolder, USDM_RECORDING);
    return measure(context, frames.slice(0, context.smoke ? 3_000 : 60_000));
  },
};

async function measure(context: ScenarioContext, frames: RecordedFrame[]): Promise<ScenarioResult> {
  const runCount = context.smoke ? 1 : 5;
  const p99s: number[] = [];
  const decisionRates: number[] = [];
  let lastSamples: number[] = [];
  for (let run = -1; run < runCount; run++) {
    const samples = tickToDecision(frames);
    const perSecond = decisionsPerSecond(frames, context.smoke ? 20_000 : 500_000);
    if (run < 0) continue;
    p99s.push(percentile(samples, 99));
    decisionRates.push(perSecond);
    lastSamples = samples;
  }
  const ticks: BenchRow = {
    what: "frame received → book updated → best exit of two venues recomputed, p99",
    unit: "µs",
    ours: median(p99s),
    peerName: "",
    peer: null,
    ratio: median(p99s),
    goal: { kind: "atMost", value: 50 },
    runCount,
    detail: `${lastSamples.length} frames, µs ${latencyText(lastSamples)}`,
  };
  const rate: BenchRow = {
    what: "routing decisions, two venues, 0.25 BTC",
    unit: "decisions/s",
    ours: median(decisionRates),
    peerName: "",
    peer: null,
    ratio: median(decisionRates),
    goal: null,
    runCount,
    detail: `${(1e9 / median(decisionRates)).toFixed(0)} ns each`,
  };
  const missed = ticks.ratio > 50 && !context.smoke;
  return { rows: [ticks, rate], profile: missed ? await profileTop(() => void tickToDecision(frames)) : [] };
}

/** Two markets: the driven one and a standing one with a book around the same price. */
class Desk {
  readonly driven: Market = createMarket(VENUETWO_BTC, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  readonly standing: Market = createMarket(VENUEONE_BTC, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 });
  readonly #input = new RouteInput();
  readonly #decision = new Decision();
  readonly #decoder = new VenuetwoDecoder();
  readonly #sync = new BookSync(this.driven.book, () => {});
  readonly #slot = this.#decoder.register(
    VENUETWO_BTC.nativeSymbol,
    VENUETWO_BTC.priceDecimals,
    VENUETWO_BTC.qtyDecimals,
  );

  constructor() {
    this.#sync.begin();
  }

  take(recorded: RecordedFrame, nowNs: number): void {
    const { bytes } = recorded;
    const frame = this.#decoder.frame;
    if (recorded.kind === "snapshot") {
      this.#decoder.decodeSnapshot(bytes, 0, bytes.length, this.#slot);
      this.#sync.onSnapshot(frame, nowNs);
      this.stand(frame.bidTicks[0] ?? 0, nowNs);
      return;
    }
    const kind = this.#decoder.decodeFrame(bytes, 0, bytes.length);
    if (kind === FRAME_DEPTH) this.#sync.onDiff(frame, nowNs);
    else if (kind === FRAME_BOOK_TICKER) {
      this.driven.book.prove(nowNs);
      this.driven.touch.set(
        frame.touchBidTicks,
        frame.touchBidLots,
        frame.touchAskTicks,
        frame.touchAskLots,
        frame.lastId,
        frame.tsEventMs,
        nowNs,
      );
    }
  }

  /** The other venue: twenty levels a side, whole dollars, around the driven venue's price. */
  stand(bidTicks: number, nowNs: number): void {
    const bid = Math.floor(bidTicks / 100) * 10;
    for (const book of [this.standing.book, this.standing.deep]) {
      if (book === null) continue;
      book.beginSnapshot();
      for (let level = 0; level < 20; level++) {
        book.applyBid(bid - 10 * level, 50_000);
        book.applyAsk(bid + 10 + 10 * level, 50_000);
      }
      book.commit(0, 1, nowNs);
    }
  }

  decide(nowNs: number): void {
    const input = this.#input;
    input.reset("CLOSE_MARKET", "SELL", nowNs);
    setSizeText(input, CLOSE_SIZE);
    for (const market of [this.driven, this.standing]) {
      const candidate = input.addCandidate(market.instrument.venue, market);
      candidate.hasCredentials = true;
      candidate.positionKnown = true;
      candidate.longLots = market === this.driven ? 1_000 : 100_000;
      candidate.latencyMsP90 = 200;
    }
    decideRoute(input, this.#decision);
  }

  get isDecided(): boolean {
    return this.#decision.selected >= 0;
  }
}

/** µs per frame, from before decoding to after the decision. */
function tickToDecision(frames: readonly RecordedFrame[]): number[] {
  const desk = new Desk();
  const samples: number[] = [];
  let isSynced = false;
  for (const frame of frames) {
    const startMs = performance.now();
    const nowNs = startMs * 1e6;
    desk.take(frame, nowNs);
    desk.standing.book.prove(nowNs);
    desk.decide(nowNs);
    const elapsedUs = (performance.now() - startMs) * 1000;
    isSynced ||= frame.kind === "snapshot";
    if (isSynced && frame.kind !== "snapshot") samples.push(elapsedUs);
  }
  if (!desk.isDecided) throw new Error("no exit was chosen: the measurement is void");
  return samples;
}

function decisionsPerSecond(frames: readonly RecordedFrame[], count: number): number {
  const desk = new Desk();
  const nowNs = 1e9;
  for (const frame of frames) desk.take(frame, nowNs);
  const startMs = performance.now();
  for (let index = 0; index < count; index++) desk.decide(nowNs);
  const elapsedMs = performance.now() - startMs;
  if (!desk.isDecided) throw new Error("no exit was chosen: the measurement is void");
  return (count * 1000) / elapsedMs;
}
