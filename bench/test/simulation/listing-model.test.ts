/**
 * A model of venues whose lists come empty, cut short, out of order and with unreadable rows, while everything that
 * they ever listed trades on. Its judge knows each contract by the venue's own name and number. Seeds decide the
 * answers. The judge must not blame the listing of each room as it is. Each planted fault is found by its check, and by
 * nothing once that check is taken out. FUZZ_SEED replays one seed.
 */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { Market } from "../../../engine/market/market.js";
import { type Contract, LISTED_ROOMS, type ListedRoom, type ListRow, type RowState } from "../support/listed-rooms.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3, 4, 5, 6] : [Number(process.env.FUZZ_SEED)];
const ANSWERS = 80;
/** From this answer on the venue lists a second contract of a symbol that exists. */
const RIVAL_FROM = 10;
const CONTRACTS: readonly Contract[] = ["BTC", "ETH", "PEPE", "SOL", "XRP", "BNB"].map((symbol, id) => ({
  symbol,
  id,
  isThousands: symbol === "PEPE",
}));
const RIVAL: Contract = { symbol: "PEPE", id: CONTRACTS.length, isThousands: false };

/**
 * KNOWN: everything that was listed can be counted, market and contract. SAME: a symbol keeps its contract. TRADING: no
 * answer halts a market without saying so. BACK: the next whole list finds all of them streamed.
 */
type Check = "KNOWN" | "SAME" | "TRADING" | "BACK";

type Kind = "whole" | "empty" | "half" | "cut" | "spoilt";
const KINDS: readonly Kind[] = ["empty", "half", "cut", "spoilt", "spoilt"];
const STATES: readonly RowState[] = ["odd", "unreadable", "nameless"];

/** The venue whose rows are in the order of their numbers, which show by place alone. */
const IS_NUMBERED_BY_PLACE: ReadonlySet<RoutableVenue> = new Set(["venueone"]);

function picked<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random.next() * items.length)] as T;
}

function answerOf(venue: RoutableVenue, random: Random, kind: Kind, listed: readonly Contract[]): readonly ListRow[] {
  const isPlaced = IS_NUMBERED_BY_PLACE.has(venue);
  const order = isPlaced ? listed : [...listed].sort(() => random.next() - 0.5);
  const rows = order.map((contract): ListRow => ({ contract, state: "fine" }));
  const isTaken = ({ contract }: ListRow): boolean => contract.symbol === RIVAL.symbol;
  switch (kind) {
    case "whole":
      return rows;
    case "empty":
      return [];
    case "half":
      // Both contracts of a symbol or neither: one alone is a delisting of the other.
      return rows.filter((row) => (isTaken(row) && !isPlaced) || random.next() < 0.5);
    case "cut":
      return isPlaced ? rows.slice(0, 1 + Math.floor(random.next() * (rows.length - 1))) : rows;
    case "spoilt": {
      const spoilt = new Set([picked(random, CONTRACTS), picked(random, CONTRACTS)]);
      return rows.map((row) => (spoilt.has(row.contract) ? { ...row, state: picked(random, STATES) } : row));
    }
  }
}

/** What the room shows after it adopts the answer wrongly, until the next one, so that nothing follows from it. */
type Plant = (room: ListedRoom, rows: readonly ListRow[], before: readonly Instrument[], kind: Kind) => void;

class Judge {
  readonly #venue: RoutableVenue;
  readonly #room: ListedRoom;
  readonly #without: readonly Check[];
  readonly #found = new Map<Check, string>();

  constructor(venue: RoutableVenue, room: ListedRoom, without: readonly Check[]) {
    this.#venue = venue;
    this.#room = room;
    this.#without = without;
  }

  get found(): readonly string[] {
    return [...this.#found].sort().map(([check, text]) => `${check}: ${text}`);
  }

  look(kind: Kind, rows: readonly ListRow[]): void {
    for (const contract of CONTRACTS) {
      const { symbol, id } = contract;
      const native = this.#room.nativeSymbol(contract);
      const shown = [this.#room.instruments.get(symbol), this.#room.markets.get(symbol)?.instrument];
      const text = `${symbol} after ${kind} ${rows.map((row) => `${row.contract.id}${row.state[0]}`).join(" ")}`;
      for (const instrument of shown) {
        if (instrument === undefined) {
          this.#blame("KNOWN", text);
          continue;
        }
        const isNumbered = instrument.nativeId >= 0;
        if (instrument.nativeSymbol !== native || (isNumbered && instrument.nativeId !== id)) {
          this.#blame("SAME", `${text}: ${instrument.nativeSymbol} ${instrument.nativeId}`);
          continue;
        }
        const isTrading = instrument.status === "TRADING" && this.#room.streamed.has(native);
        if (isTrading) continue;
        if (kind === "whole") this.#blame("BACK", text);
        else if (!this.#mayHalt(kind, contract, rows)) this.#blame("TRADING", text);
      }
    }
  }

  /** A contract that a venue leaves out of its list, or lists by rules that no order can follow, must not trade. */
  #mayHalt(kind: Kind, contract: Contract, rows: readonly ListRow[]): boolean {
    if (kind === "half" || kind === "cut") return !IS_NUMBERED_BY_PLACE.has(this.#venue);
    const row = rows.find((candidate) => candidate.contract === contract);
    return row !== undefined && row.state !== "fine" && row.state !== "nameless";
  }

  #blame(check: Check, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }
}

function played(
  venue: RoutableVenue,
  seed: number,
  plant: Plant = () => {},
  without: readonly Check[] = [],
): readonly string[] {
  const room = LISTED_ROOMS[venue]();
  const random = createSeededRandom(seed);
  const judge = new Judge(venue, room, without);
  for (let answer = 0; answer < ANSWERS; answer++) {
    const kind = answer % 2 === 0 ? "whole" : picked(random, KINDS);
    const listed = answer < RIVAL_FROM ? CONTRACTS : [...CONTRACTS, RIVAL];
    const rows = answerOf(venue, random, kind, listed);
    const before = [...room.instruments.values()];
    room.adopt(rows);
    const [instruments, markets] = [new Map(room.instruments), new Map(room.markets)];
    plant(room, rows, before, kind);
    judge.look(kind, rows);
    for (const [symbol, instrument] of instruments)
      (room.instruments as Map<string, Instrument>).set(symbol, instrument);
    for (const [symbol, market] of markets) (room.markets as Map<string, Market>).set(symbol, market);
  }
  return judge.found;
}

const checksOf = (found: readonly string[]): readonly string[] => found.map((text) => text.split(":")[0] ?? "");

function put(room: ListedRoom, symbol: string, instrument: Instrument): void {
  const market = room.markets.get(symbol);
  (room.instruments as Map<string, Instrument>).set(symbol, instrument);
  if (market !== undefined) (room.markets as Map<string, Market>).set(symbol, { ...market, instrument });
}

const MUTANTS: readonly (readonly [string, Check, Plant])[] = [
  [
    "what an answer does not list is forgotten",
    "KNOWN",
    (room, rows) => {
      const fresh = room.fresh(rows);
      for (const symbol of [...room.instruments.keys()]) {
        if (fresh.has(symbol)) continue;
        (room.instruments as Map<string, Instrument>).delete(symbol);
        (room.markets as Map<string, Market>).delete(symbol);
      }
    },
  ],
  [
    "what an answer does not list is halted, whatever answer it is",
    "TRADING",
    (room, rows) => {
      const fresh = room.fresh(rows);
      for (const [symbol, instrument] of room.instruments)
        if (!fresh.has(symbol)) put(room, symbol, { ...instrument, status: "HALTED" });
    },
  ],
  [
    "a symbol follows the place of its row",
    "SAME",
    (room, rows, before) => {
      const fresh = [...room.fresh(rows).values()];
      for (const [place, { symbol }] of before.entries()) {
        const other = fresh[place];
        const known = room.instruments.get(symbol);
        if (other === undefined || known === undefined || other.symbol === symbol) continue;
        put(room, symbol, { ...known, nativeSymbol: other.nativeSymbol, nativeId: other.nativeId });
      }
    },
  ],
  [
    "a symbol goes to whichever contract the answer gives it first",
    "SAME",
    (room, rows) => {
      for (const [symbol, { nativeSymbol, nativeId }] of room.fresh(rows)) {
        const known = room.instruments.get(symbol);
        if (known !== undefined) put(room, symbol, { ...known, nativeSymbol, nativeId });
      }
    },
  ],
  [
    "what was halted is not opened again by a whole list",
    "BACK",
    (room, _rows, _before, kind) => {
      const instrument = room.instruments.get("ETH");
      if (kind === "whole" && instrument !== undefined) put(room, "ETH", { ...instrument, status: "HALTED" });
    },
  ],
];

describe.each(ROUTABLE_VENUES)("the judge of lists that are not whole, %s", (venue) => {
  it.each(SEEDS)("has nothing to say of the room as it is, seed %i", (seed) => {
    expect(played(venue, seed)).toEqual([]);
  });

  it.each(MUTANTS)("sees that %s by %s alone", (_name, check, plant) => {
    for (const seed of SEEDS) {
      expect(checksOf(played(venue, seed, plant))).toEqual([check]);
      expect(played(venue, seed, plant, [check])).toEqual([]);
    }
  });
});
