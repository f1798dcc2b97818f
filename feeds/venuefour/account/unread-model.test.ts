/**
 * A model of an account whose frames cannot be read now and then while reads lag behind what the frames reported, under
 * a judge that holds the streamed position against the venue's. Virtual time, no dice. The room as it is, which the
 * judge must not blame, and one planted fault for each check: the check sees it, and with the check taken out nothing
 * does.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AccountStream } from "../../../engine/ports.js";
import type { HttpResult } from "../../shared/net/http.js";
import { StreamedReads } from "../../shared/account/streamed-reads.js";
import { BTC, createHarness, envelope, orderRow, WALLET } from "../test/trading-harness.js";
import { AccountCatchUp } from "./catch-up.js";

const CHANNELS = ["account_positions", "account_order_updates", "account_trades", "account_leverage", "account_margin"];
const STEP_MS = 250;
/** Reads trail by so long: the one that an unreadable frame asks for at once does not show it. */
const LAG_MS = 1_000;
/** A read surely later is answered by then. */
const TOLD_AFTER_MS = 8_000;
const ROUND_MS = 20_000;
/** What others make of the position, in lots; each comes in a frame that cannot be read. */
const HELD_LOTS = [20, 50, 0, 30];

/** HELD: what is LIVE is what the venue has. BACK: it is LIVE again. FILLS: each fill is told, once. */
type Check = "HELD" | "BACK" | "FILLS";

/** An order that rests, and fills a little at a time. */
const ORDER_ID = 7;
const OPEN_ORDER = {
  ...orderRow({ order_id: ORDER_ID, filled_amount: "0.0001" }),
  ...{ price: "64000", initial_amount: "0.0009", cancelled_amount: "0" },
};

/** A frame is at its reader. */
const unread = { isTelling: false };

afterEach(() => {
  vi.restoreAllMocks();
  unread.isTelling = false;
});

class Account {
  readonly #harness = createHarness();
  readonly #found = new Map<Check, string>();
  readonly #without: readonly Check[];
  readonly #session = this.#harness.open();
  readonly #stream: AccountStream;
  /** What reads say; it trails behind what is held. */
  #readLots = 0;
  #orderId = 5;
  /** In the venue's list of them. */
  readonly #fills: object[] = [];
  readonly #told: string[] = [];

  constructor(without: readonly Check[]) {
    this.#without = without;
    const { http, trading } = this.#harness;
    http.step((request) => this.#answer(request.path));
    const opened = trading.streams.openAccountStream(this.#session, (event) => {
      if (event.kind === "fill") this.#told.push(event.tradeId);
    });
    if (!opened.ok) throw new Error(opened.problem);
    this.#stream = opened.stream;
  }

  async play(): Promise<Map<Check, string>> {
    const { clock, network } = this.#harness;
    network.last.open();
    await clock.advanceAsync(500);
    for (const source of CHANNELS) this.#send({ channel: "subscribe", data: { source, account: WALLET.publicKey } });
    await clock.advanceAsync(STEP_MS);
    expect([this.#stream.state, this.#heldLots()]).toEqual(["LIVE", 0]);
    for (const lots of HELD_LOTS) await this.#round(lots);
    const told = this.#told.join();
    const happened = HELD_LOTS.map(String).join();
    if (told !== happened) this.#blame("FILLS", `told ${told}, and there were ${happened}`);
    return this.#found;
  }

  async #round(lots: number): Promise<void> {
    unread.isTelling = true;
    this.#send({ channel: "account_positions", data: {} });
    this.#send({ channel: "account_trades", data: {} });
    unread.isTelling = false;
    for (let passedMs = STEP_MS; passedMs <= ROUND_MS; passedMs += STEP_MS) {
      await this.#harness.clock.advanceAsync(STEP_MS);
      if (passedMs === LAG_MS) {
        this.#readLots = lots;
        this.#orderId++;
        this.#fills.unshift(this.#fill(lots));
      }
      const shown = this.#heldLots();
      if (passedMs < TOLD_AFTER_MS || this.#stream.state !== "LIVE" || shown === lots) continue;
      this.#blame("HELD", `${String(shown)} lots are LIVE ${passedMs} ms after there were ${lots}`);
    }
    if (this.#stream.state !== "LIVE") this.#blame("BACK", `${this.#stream.state} after ${ROUND_MS} ms`);
  }

  #blame(check: Check, text: string): void {
    if (!this.#without.includes(check)) this.#found.set(check, text);
  }

  #send(frame: object): void {
    this.#harness.network.last.receive(JSON.stringify(frame));
  }

  #heldLots(): number | null {
    const read = this.#harness.trading.reader.heldPositions(this.#session, BTC);
    return read?.ok === true ? (read.value[0]?.qtyLots ?? 0) : null;
  }

  /** Named by the lots that it left. */
  #fill(lots: number): object {
    return {
      ...{ history_id: lots, order_id: ORDER_ID, client_order_id: null, symbol: "BTC", amount: "0.0001" },
      ...{ price: "63441", entry_price: "63441", fee: "0.005", pnl: "-0.005", event_type: "fulfill_maker" },
      ...{ side: "open_long", created_at: this.#harness.clock.wallMs(), cause: "normal" },
    };
  }

  #answer(path: string): HttpResult {
    const { http } = this.#harness;
    http.step((request) => this.#answer(request.path));
    if (path.startsWith("/api/v1/trades/history")) return http.response(200, envelope(this.#fills));
    if (path.startsWith("/api/v1/orders")) return http.response(200, envelope([OPEN_ORDER]));
    if (!path.startsWith("/api/v1/positions")) return http.response(200, envelope([]));
    const common = {
      margin: "0",
      funding: "0",
      isolated: false,
      liquidation_price: null,
      created_at: 1,
      updated_at: 1,
    };
    const row = { symbol: "BTC", side: "bid", amount: `0.000${this.#readLots}`, entry_price: "63441", ...common };
    return http.response(200, envelope(this.#readLots === 0 ? [] : [row], { last_order_id: this.#orderId }));
  }
}

/** The content of an unreadable frame is in the next answer, whenever that was asked for. */
function believeNextRead(): void {
  const { doubt } = StreamedReads.prototype;
  vi.spyOn(StreamedReads.prototype, "doubt").mockImplementation(function (this: StreamedReads) {
    if (!unread.isTelling) doubt.call(this);
  });
}

/** No read is surely later than what is in doubt. */
function believeNoRead(): void {
  vi.spyOn(StreamedReads.prototype, "agreed").mockReturnValue();
}

/** A frame that cannot be read held no fill. */
function missNoFills(): void {
  const { lost } = AccountCatchUp.prototype;
  vi.spyOn(AccountCatchUp.prototype, "lost").mockImplementation(function (this: AccountCatchUp) {
    if (!unread.isTelling) lost.call(this);
  });
}

/** The checks that each is seen by: an account that is never LIVE again, or too soon, tells no fills either. */
const MUTANTS: readonly (readonly [string, readonly Check[], () => void])[] = [
  ["a read that lags behind an unreadable frame is believed", ["HELD", "FILLS"], believeNextRead],
  ["no read ends the doubt that an unreadable frame causes", ["BACK", "FILLS"], believeNoRead],
  ["fills of an unreadable frame are not read", ["FILLS"], missNoFills],
];

describe("the judge of an account whose frames cannot be read", () => {
  it("has nothing to say of a room that is right", async () => {
    expect([...(await new Account([]).play())]).toEqual([]);
  });

  it.each(MUTANTS)("sees that %s by %s, and by nothing else", async (_, checks, plant) => {
    plant();
    expect([...(await new Account([]).play()).keys()].sort()).toEqual([...checks].sort());
    expect([...(await new Account(checks).play())]).toEqual([]);
  });
});
